-- How large the job is, how long its usual step lasts, and which part of the time its ranks wait for late ones.
with lengths as (
  select step, max(ms) as ms, min(begin_ns) as begin_ns
  from step_rows group by step
),
whole as (
  select count(distinct rank) as ranks, count(distinct host) as hosts, sum(ms) as ms, sum(waited_ms) as waited_ms
  from step_rows
)
select
  max(whole.ranks) as ranks,
  max(whole.hosts) as hosts,
  count(*) as steps,
  min(step) as first_step,
  max(step) as last_step,
  min(begin_ns) as begin_ns,
  max(begin_ns + cast(lengths.ms * 1000000 as bigint)) as end_ns,
  median(lengths.ms) as median_ms,
  max(lengths.ms) as max_ms,
  max(whole.ms) / 3600000 as gpu_hours,
  100 * max(whole.waited_ms) / max(whole.ms) as waited_pct
from lengths cross join whole
