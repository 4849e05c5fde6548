-- Ranks without rows among those below the highest one, and ranks whose rows end before the last step.
with ends as (
  select rank, max(step) as last_step from step_rows group by rank
),
job as (
  select max(last_step) as last_step from ends
),
neighbours as (
  select rank, lag(rank) over (order by rank) as before from ends
)
select
  coalesce(before, -1) + 1 as first_rank, rank - 1 as last_rank, cast(null as bigint) as last_step
from neighbours
where rank - coalesce(before, -1) > 1
union all
select e.rank as first_rank, e.rank as last_rank, e.last_step
from ends e cross join job j
where e.last_step < j.last_step
order by first_rank, last_rank
limit 100
