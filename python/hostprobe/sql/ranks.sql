-- The ranks that the others wait for, the worst first. Its cause is what it loses beyond the median rank, the most of all causes.
with usual as (
  select cause, median(ms / steps) as ms_per_step from rank_causes group by cause
),
beyond as (
  select
    r.rank, r.host, r.cause, r.ms / r.steps - u.ms_per_step as ms_per_step,
    row_number() over (
      partition by r.rank, r.host order by round(r.ms / r.steps - u.ms_per_step, 6) desc, r.cause
    ) as place
  from rank_causes r join usual u on r.cause = u.cause
),
world as (
  select count(distinct rank) as ranks from rank_totals
)
select
  t.rank,
  t.host,
  t.steps,
  t.late_ms / t.steps as late_ms_per_step,
  100 * t.late_ms / t.ms as late_pct,
  t.late_ms * w.ranks / 3600000 as gpu_hours,
  b.cause,
  b.ms_per_step as beyond_median_ms
from rank_totals t
join beyond b on b.rank = t.rank and b.host = t.host and b.place = 1
cross join world w
where t.late_ms > 0
order by round(t.late_ms, 6) desc, t.rank, t.host
limit 20
