-- Ranks and steps as a map of at most 64 rows and 128 columns: the part of its step for which the others wait for the latest rank there.
with bounds as (
  select min(rank) as first_rank, max(rank) - min(rank) + 1 as ranks, min(step) as first_step, max(step) - min(step) + 1 as steps
  from step_rows
)
select
  cast(floor((r.rank - b.first_rank) * least(b.ranks, 64) / b.ranks) as int) as grid_row,
  cast(floor((r.step - b.first_step) * least(b.steps, 128) / b.steps) as int) as grid_column,
  min(r.rank) as first_rank,
  max(r.rank) as last_rank,
  min(r.step) as first_step,
  max(r.step) as last_step,
  100 * max(r.late_ms / r.ms) as late_pct
from step_rows r cross join bounds b
where r.ms > 0
group by
  cast(floor((r.rank - b.first_rank) * least(b.ranks, 64) / b.ranks) as int),
  cast(floor((r.step - b.first_step) * least(b.steps, 128) / b.steps) as int)
order by grid_row, grid_column
