"""What runs the queries of hostprobe/sql/ over step rows: DuckDB inside this process, or Spark. The SQL is the same.

A query sees these views: `all_rows` (every row of the data), `step_rows` (those of one job, between two steps), `rank_totals` (added up by
rank and host) and `rank_causes` (the same, a row for each cause). Columns that a newer version added, or an older one lacks, are null.

Where each host analysed its own ranks alone, what a rank waited for ranks elsewhere is charged to none of them. `step_rows` joins that: see
Engine._joined.
"""

import importlib
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

__all__ = ["DuckDbEngine", "Engine", "Missing", "NoRows", "SparkEngine", "master_of", "queries"]

_SQL = Path(__file__).resolve().parent / "sql"
_ODD = ("'", "\\", "$")
_MEMORY = "3GB"
_NEEDED = ("step", "begin_ns", "ms")
# What the views have whatever the files have; then every lost_<cause>_ms that is there.
_COLUMNS = (("job", "string"), ("date", "string"), ("host", "string"), ("rank", "int"), ("step", "bigint"), ("begin_ns", "bigint"),
            ("ms", "double"), ("type", "string"), ("waited_ms", "double"), ("late_ms", "double"), ("own_us", "double"),
            ("ranks", "bigint"), ("lost_records", "bigint"))


class Missing(Exception):
    """A package is not installed."""


class NoRows(ValueError):
    """The data has nothing to ask about."""


def queries() -> Dict[str, str]:
    """Every query by its name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_SQL.glob("*.sql"))}


def _text(value: str) -> str:
    """A literal in both dialects, which differ in quotes, escapes and variables: none of these stands in it."""
    pieces = [f"chr({ord(piece)})" if piece in _ODD else f"'{piece}'" for piece in re.split(r"(['\\$])", value)]
    return f"concat({', '.join(pieces)})"


class Engine:
    """`source`: the name of the view with the files' own columns, which an engine makes; `columns`: their names."""

    source = "raw_rows"
    columns: Sequence[str] = ()

    def execute(self, sql: str) -> Tuple[List[str], List[Tuple[Any, ...]]]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def rows(self, sql: str) -> List[Dict[str, Any]]:
        names, rows = self.execute(sql)
        return [dict(zip(names, row)) for row in rows]

    @property
    def causes(self) -> List[str]:
        return sorted(name[5:-3] for name in self.columns
                      if name.startswith("lost_") and name.endswith("_ms") and name[5:-3].replace("_", "").isalnum())

    def _view(self, name: str, sql: str) -> None:
        self.execute(f"create or replace temporary view {name} as {sql}")

    def _keep(self, name: str, sql: str) -> None:
        """A view that several queries ask for, and that is small."""
        self.execute(f"create or replace temporary table {name} as {sql}")

    def make_views(self) -> None:
        """Of all rows. NoRows: a column is missing without which there is nothing to say."""
        for name in _NEEDED:
            if name not in self.columns:
                raise NoRows(f"these are no step rows: the column {name} is missing")
        cells = [f"cast({name} as {kind}) as {name}" if name in self.columns else f"cast(null as {kind}) as {name}"
                 for name, kind in _COLUMNS if name != "rank"]
        cells.append("cast(coalesce(rank, 0) as int) as rank" if "rank" in self.columns else "0 as rank")
        cells += [f"cast(lost_{cause}_ms as double) as lost_{cause}_ms" for cause in self.causes]
        self._view("all_rows", f"select {', '.join(cells)} from {self.source}")

    def jobs(self) -> List[str]:
        """Their ids, the newest last."""
        return [str(row["job"]) for row in self.rows(
            "select coalesce(job, '') as job from all_rows group by coalesce(job, '') order by max(begin_ns), job")]

    def choose(self, job: str, steps: Optional[Tuple[int, int]] = None) -> None:
        """Puts one job before the queries, and of it the steps from the first number to the second."""
        span = "" if steps is None else f" and step between {int(steps[0])} and {int(steps[1])}"
        of_job = f"select * from all_rows where coalesce(job, '') = {_text(job)}{span}"
        self._view("step_rows", self._joined(of_job) if self._is_in_parts(of_job) else of_job)
        lost = "".join(f", coalesce(sum(lost_{cause}_ms), 0) as lost_{cause}_ms" for cause in self.causes)
        self._keep("rank_totals", "select rank, host, count(*) as steps, sum(ms) as ms, coalesce(sum(late_ms), 0) as late_ms, "
                   f"coalesce(sum(waited_ms), 0) as waited_ms{lost} from step_rows group by rank, host")
        names = ", ".join(f"('{cause}')" for cause in self.causes) or "('unexplained')"
        cases = " ".join(f"when '{cause}' then t.lost_{cause}_ms" for cause in self.causes) or "when 'unexplained' then 0.0"
        self._keep("rank_causes", f"select t.rank, t.host, t.steps, c.cause, case c.cause {cases} end as ms "
                   f"from rank_totals t cross join (select * from (values {names}) as names(cause)) c")

    def _is_in_parts(self, of_job: str) -> bool:
        """Whether the job has more ranks than were analysed together."""
        if not {"ranks", "waited_ms", "lost_waits_for_rank_ms", "lost_unknown_ms", "lost_gpu_bound_ms"} <= set(self.columns):
            return False
        found = self.rows(f"select count(distinct rank) as ranks, min(ranks) as together from ({of_job}) rows_of_job")[0]
        return found["together"] is not None and int(found["together"]) < int(found["ranks"])

    def _joined(self, of_job: str) -> str:
        """Of a step of which all ranks have a row: what they waited, all together, is charged to those that waited less than the one that waited
        most, in parts as large as that difference. A rank whose GPU may have waited (unknown) is not one that came late. What even the
        last rank spent in collectives with others moved data; it counts as work of the GPU, as in a report."""
        columns = [name for name, _ in _COLUMNS if name not in ("waited_ms", "late_ms")]
        columns += [f"lost_{cause}_ms" for cause in self.causes if cause not in ("waits_for_rank", "gpu_bound")]
        return f"""
            with chosen as ({of_job}),
            world as (select count(distinct rank) as all_ranks from chosen),
            idle as (
              select chosen.*, waited_ms + lost_waits_for_rank_ms + lost_unknown_ms as idle_ms, count(waited_ms) over (partition by step) as known,
                min(lost_waits_for_rank_ms) over (partition by step) as moving_ms
              from chosen
            ),
            less as (
              select idle.*, waited_ms + lost_waits_for_rank_ms - moving_ms as all_waited_ms, max(idle_ms) over (partition by step) - idle_ms as less_ms
              from idle
            ),
            whole as (
              select less.*, sum(all_waited_ms) over (partition by step) as whole_ms, sum(less_ms) over (partition by step) as whole_less_ms from less
            )
            select {', '.join(columns)},
              lost_gpu_bound_ms + case when known >= all_ranks then moving_ms else 0 end as lost_gpu_bound_ms,
              case when known >= all_ranks then 0 else lost_waits_for_rank_ms end as lost_waits_for_rank_ms,
              case when known >= all_ranks then all_waited_ms else waited_ms end as waited_ms,
              case when known < all_ranks then null when whole_less_ms > 0 then less_ms / whole_less_ms * whole_ms / (known - 1) else 0 end as late_ms
            from whole cross join world"""


class DuckDbEngine(Engine):
    """Reads `files`, or a table in memory that has the Arrow interface. No query reads another file."""

    def __init__(self, files: Sequence[str] = (), table: Any = None, threads: Optional[int] = None) -> None:
        try:
            self._duckdb: Any = importlib.import_module("duckdb")
        except ImportError as error:
            raise Missing(f"hostprobe job needs DuckDB ({error}): pip install 'hostprobe[job]'") from None
        self._connection = self._duckdb.connect(":memory:")
        self._connection.execute(f"set memory_limit = '{_MEMORY}'")
        self._connection.execute("set preserve_insertion_order = false")
        if threads is not None:
            self._connection.execute(f"set threads = {int(threads)}")
        if table is not None:
            self._connection.register(self.source, table)
        else:
            self._read(files)
        self.columns = [column[0] for column in self._connection.execute(f"select * from {self.source} limit 0").description]
        self.make_views()

    def _read(self, files: Sequence[str]) -> None:
        if not files:
            raise NoRows("there are no step rows")
        # A job may look like a number, and is text all the same. Only what stands in all paths is a column of them.
        types = ", ".join(f"'{name}': VARCHAR" for name in ("job", "date", "host") if all(f"/{name}=" in file for file in files))
        names = (re.sub(r"([*?\[])", r"[\1]", file).replace("'", "''") for file in files)  # each is one file, and no pattern
        listed = ", ".join(f"'{name}'" for name in names)
        try:
            self._connection.execute(f"create temporary view {self.source} as select * from read_parquet([{listed}], "
                                     f"hive_partitioning = {'true' if types else 'false'}"
                                     + (f", hive_types = {{{types}}}" if types else "") + ", union_by_name = true)")
        except self._duckdb.Error as error:
            raise NoRows(str(error).splitlines()[0]) from None

    def execute(self, sql: str) -> Tuple[List[str], List[Tuple[Any, ...]]]:
        found = self._connection.execute(sql)
        return [column[0] for column in found.description or ()], found.fetchall()

    def close(self) -> None:
        self._connection.close()


class SparkEngine(Engine):
    """Reads the folder `data` on the cluster at `master`, which must see it under the same path."""

    def __init__(self, data: str, master: str) -> None:
        try:
            sql: Any = importlib.import_module("pyspark.sql")
        except ImportError as error:
            raise Missing(f"--engine {master} needs pyspark ({error}) and Java: pip install 'hostprobe[spark]'") from None
        builder = sql.SparkSession.builder.master(master).appName("hostprobe job")
        partitions = "4" if master.startswith("local") else "200"
        for name, value in (("spark.sql.sources.partitionColumnTypeInference.enabled", "false"), ("spark.ui.enabled", "false"),
                            ("spark.ui.showConsoleProgress", "false"), ("spark.sql.session.timeZone", "UTC"),
                            ("spark.sql.shuffle.partitions", partitions), ("spark.sql.ansi.enabled", "false"),
                            ("spark.driver.memory", "2g"), ("spark.log.level", "ERROR")):
            builder = builder.config(name, value)
        self._session = builder.getOrCreate()
        self._session.sparkContext.setLogLevel("ERROR")
        frame = self._session.read.option("mergeSchema", "true").option("recursiveFileLookup", "false").parquet(data)
        frame.createOrReplaceTempView(self.source)
        self.columns = list(frame.columns)
        self.make_views()

    def execute(self, sql: str) -> Tuple[List[str], List[Tuple[Any, ...]]]:
        frame = self._session.sql(sql)
        if not frame.columns:
            return [], []
        return list(frame.columns), [tuple(row) for row in frame.collect()]

    def _keep(self, name: str, sql: str) -> None:
        self._view(name, sql)
        self._session.catalog.cacheTable(name)

    def close(self) -> None:
        self._session.stop()




def master_of(name: str) -> Optional[str]:
    """The cluster that `--engine NAME` means; None: DuckDB. ValueError: neither."""
    if name == "duckdb":
        return None
    if name == "spark":
        return "local[*]"
    if name.startswith("spark://"):
        return name
    raise ValueError(f"--engine is duckdb, spark or spark://HOST:PORT, and not {name}")
