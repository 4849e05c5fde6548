-- Every job of the data, day by day: how long its usual step lasted, and how much of it ranks waited for late ones.
with lengths as (
  select job, date, step, max(ms) as ms, min(begin_ns) as begin_ns, sum(ms) as all_ms, sum(waited_ms) as waited_ms
  from all_rows group by job, date, step
)
select
  job,
  date,
  min(begin_ns) as begin_ns,
  count(*) as steps,
  median(ms) as median_ms,
  100 * sum(waited_ms) / sum(all_ms) as waited_pct
from lengths
group by job, date
order by begin_ns, job, date
