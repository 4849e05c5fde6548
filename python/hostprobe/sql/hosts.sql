-- The hosts that the others wait for, the worst first: of how many of their ranks, and what these lose beyond the median host.
with costs as (
  select host, cause, sum(ms) / sum(steps) as ms_per_step from rank_causes group by host, cause
),
usual as (
  select cause, median(ms_per_step) as ms_per_step from costs group by cause
),
beyond as (
  select
    c.host, c.cause, c.ms_per_step - u.ms_per_step as ms_per_step,
    row_number() over (partition by c.host order by round(c.ms_per_step - u.ms_per_step, 6) desc, c.cause) as place
  from costs c join usual u on c.cause = u.cause
),
world as (
  select count(distinct rank) as ranks from rank_totals
),
totals as (
  select
    host,
    count(distinct rank) as ranks,
    sum(case when late_ms > 0.002 * ms then 1 else 0 end) as late_ranks,
    sum(late_ms) as late_ms,
    max(steps) as steps
  from rank_totals group by host
)
select
  t.host,
  t.ranks,
  t.late_ranks,
  t.late_ms / t.steps as late_ms_per_step,
  t.late_ms * w.ranks / 3600000 as gpu_hours,
  b.cause,
  b.ms_per_step as beyond_median_ms
from totals t
join beyond b on b.host = t.host and b.place = 1
cross join world w
where t.late_ms > 0
order by round(t.late_ms, 6) desc, t.host
limit 20
