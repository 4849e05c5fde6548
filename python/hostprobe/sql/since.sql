-- Since which step a rank is late: the worst ranks, where what others wait for them rises most clearly (the lowest point of the walk of
-- differences from the mean), and by how much.
with late_ranks as (
  select rank, sum(late_ms) as late_ms from rank_totals group by rank
),
worst as (
  select rank from late_ranks where late_ms > 0 order by round(late_ms, 6) desc, rank limit 20
),
late as (
  select s.rank, s.step, sum(s.late_ms) as late_ms, min(s.begin_ns) as begin_ns, max(s.ms) as ms
  from step_rows s join worst w on w.rank = s.rank
  where s.late_ms is not null
  group by s.rank, s.step
),
means as (
  select rank, avg(late_ms) as late_ms from late group by rank
),
walked as (
  select
    l.rank, l.step, l.late_ms, l.ms, l.begin_ns,
    lead(l.step) over (partition by l.rank order by l.step) as next_step,
    lead(l.begin_ns) over (partition by l.rank order by l.step) as next_begin_ns,
    sum(l.late_ms - m.late_ms) over (
      partition by l.rank order by l.step rows between unbounded preceding and current row
    ) as walk
  from late l join means m on m.rank = l.rank
),
lowest as (
  select
    rank, next_step, next_begin_ns,
    row_number() over (partition by rank order by round(walk, 6), step) as place
  from walked where next_step is not null
),
changes as (
  select
    w.rank,
    l.next_step as since_step,
    l.next_begin_ns as since_ns,
    avg(case when w.step < l.next_step then w.late_ms end) as before_ms,
    avg(case when w.step >= l.next_step then w.late_ms end) as after_ms,
    avg(w.ms) as step_ms
  from walked w join lowest l on l.rank = w.rank and l.place = 1
  group by w.rank, l.next_step, l.next_begin_ns
)
select rank, since_step, since_ns, before_ms, after_ms
from changes
where after_ms > 2 * before_ms and after_ms - before_ms > 0.002 * step_ms
order by round(after_ms - before_ms, 6) desc, rank
