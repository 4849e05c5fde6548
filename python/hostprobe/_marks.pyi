from hostprobe import active as active, mark as mark, region as region, start as start
from hostprobe import step as step, stop as stop, trigger as trigger

def restart_numbers() -> None: ...
