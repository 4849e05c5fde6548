-- Which ranks the others wait for in the steps that last longer than one and a half times the usual, and what these lose there.
with lengths as (
  select step, max(ms) as ms from step_rows group by step
),
usual as (
  select median(ms) as ms from lengths
),
stalls as (
  select l.step from lengths l cross join usual u where l.ms > 1.5 * u.ms
)
select r.rank, r.host, count(*) as steps, sum(r.late_ms) as awaited_ms
from step_rows r join stalls s on s.step = r.step
where r.late_ms > 0
group by r.rank, r.host
order by round(awaited_ms, 6) desc, rank, host
limit 20
