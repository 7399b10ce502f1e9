// One source: what it is doing, its versions, its polls, its settings.
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { address, ask, get, part, send } from './api';
import { Alerts } from './alert';
import { Frame, Hatch, Hours, Series } from './charts';
import { bytes, count, dayOf, exact, hour, lives, millis, moment, percent, plural, rate, short, span, tidy, tooEarly, urgencies, value } from './format';
import { quote, sourceLine } from './lines';
import { useAction, useLoad } from './load';
import { guest, may } from './me';
import { AsLines, Button, Later, Mark, mood, moodWords, nameOf, Out, Outcome, Section, Show, sourcePath, Time, useNumbers, useTitle, WhatChanged, typing } from './parts';
import { Remedies } from './remedies';
import { Habits } from './rhythm';
import { go } from './router';
import { Share } from './share';
import type { Change, Outcome as Poll, Source as Data, Why } from './types';
import { Versions } from './versions';

export function Source({ id, tab }: { id: string; tab: string }) {
  const source = useLoad<{ data: Data; etag: string }>((s) => ask<Data>('GET', address('/sources/' + part(id)), undefined, { signal: s }), [id], 10_000);
  return (
    <>
    {!source.data && <h1 class={source.problem ? 'title' : 'hidden-text'}>{source.problem?.status === 404 ? 'There is no such source.' : <bdi>{tidy(id)}</bdi>}</h1>}
    <Show of={source} bars={6}>
      {({ data: s, etag }) => (
        <>
          <Head of={s} reload={source.reload} />
          <FirstPoll of={s} reload={source.reload} />
          <nav class="tabs" aria-label="Parts of the source">
            {([['', 'Now', ''], ['/versions', 'Versions', count(s.standing.version)], ['/polls', 'Polls', count(s.standing.polls)], ...(guest() ? [] : [['/settings', 'Settings', ''] as const])] as const).map(([path, word, n]) => (
              <a key={path} href={sourcePath(id, path)} aria-current={tab === path.slice(1) ? 'page' : undefined}>{word} <span>{n}</span></a>
            ))}
          </nav>
          {tab === '' && <Now of={s} />}
          {tab === 'versions' && <Versions of={s} whole />}
          {tab === 'polls' && <Polls id={id} />}
          {tab === 'settings' && <Later draw={(m) => <m.SourceSettings of={s} etag={etag} reload={source.reload} />} />}
        </>
      )}
    </Show>
    </>
  );
}

function Head({ of: s, reload }: { of: Data; reload: () => void }) {
  const [doing, run] = useAction();
  const poll = () => run(async () => {
    const { outcome, hold } = await send<{ outcome?: Poll; hold?: { reason: string } }>('POST', `/sources/${part(s.id)}/poll`, undefined, { wait: '30s' });
    reload();
    if (!outcome) return 'It will be polled as soon as it may' + (hold ? ': ' + hold.reason : '') + '.';
    const said: Record<string, string> = { changed: 'It has changed.', unchanged: 'Nothing new.', first: 'The first version is stored.', held: 'It looks like the wrong page, and is held.', failed: 'It failed: ' + (outcome.error ?? outcome.failure) };
    return said[outcome.result] ?? outcome.result;
  });
  const pause = () => run(async () => {
    await send('PATCH', `/sources/${part(s.id)}`, { paused: !s.paused });
    reload();
  });
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (e.key === 'p' && may('write')) void poll();
      if (e.key === 'e') go(sourcePath(s.id, '/settings'));
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  const is = mood(s);
  useTitle(nameOf(s));
  return (
    <>
      <div class="row wrap headline">
        <h1 class="title grow"><bdi>{tidy(nameOf(s))}</bdi></h1>
        <Button icon="poll" keys="p" busy={doing.busy} onClick={poll}>Poll now</Button>
        <Button icon={s.paused ? 'play' : 'pause'} onClick={pause}>{s.paused ? 'Resume' : 'Pause'}</Button>
        <Share what="source" id={s.id} />
        <AsLines method="POST" url={address(`/sources/${part(s.id)}/poll`)} cli={`freshet poll ${quote(s.id)}`}
          also={[{ method: 'PATCH', url: address(`/sources/${part(s.id)}`), body: { paused: !s.paused }, cli: `freshet ${s.paused ? 'resume' : 'pause'} ${quote(s.id)}` }]} />
      </div>
      <p class="row wrap small">
        <Mark is={is} silent /> {moodWords[is]}
        <Out url={s.url}>{tidy(short(s.url))}</Out>
        {s.tags.map((t) => <a key={t} class="tag" href={'/sources?tag=' + encodeURIComponent(t)}><bdi>{tidy(t)}</bdi></a>)}
        <span class="dim">watched since {dayOf(s.created_at)}</span>
      </p>
      <Outcome of={doing} />
      <Trouble of={s} reload={reload} />
    </>
  );
}

/** FirstPoll waits for the first version of a source that was just added. */
function FirstPoll({ of: s, reload }: { of: Data; reload: () => void }) {
  const waits = s.standing.polls === 0 && !s.paused && may('write');
  useEffect(() => {
    if (!waits) return;
    let gone = false;
    send('POST', `/sources/${part(s.id)}/poll`, undefined, { wait: '30s', first: true }).then(() => gone || reload(), () => undefined); // the list of polls says what went wrong
    return () => {
      gone = true;
    };
  }, [waits]);
  return waits ? <p class="say" role="status">Waiting for the first poll. It stores the first version, which is no change.</p> : null;
}

/** Trouble says why a source fails, is suspect, is noisy or has moved, and what may help. */
function Trouble({ of: s, reload }: { of: Data; reload: () => void }) {
  const st = s.standing, n = st.noise, blank = !st.failures && !st.suspect && !st.noisy && !st.moved_to && st.remedies?.length;
  const why = [
    ...(st.failures > 0 ? [`The last poll failed: ${st.last_error?.message ?? 'unknown'} (${plural(st.failures, 'failure')} in a row).`] : []),
    ...(st.suspect ? [`Version ${st.held?.version ?? st.version} is probably not the page that you want: ${st.suspect.reason}. It is stored and not reported${st.held?.next ? `; ${st.held.next}` : ''}.`] : []),
    ...(st.noisy ? [n ? `It differs at ${n.differ} of ${n.polls} polls${s.noise === 'auto' ? '' : ', and each is reported as a change'}.` : 'It differs at nearly every poll.'] : []),
    ...(st.moved_to ? [`It has moved for good to ${short(st.moved_to)}.`] : []),
    ...(blank ? ['This may not be the page that you want.'] : []),
  ];
  if (why.length === 0) return null;
  const version = st.held?.version ?? st.version;
  return (
    <div class="panel trouble" role="group" aria-label="What is wrong, and what may help">
      {why.map((w) => <p key={w} class="say">{tidy(w)}</p>)}
      {st.noisy && n?.places.slice(0, 3).map((p) => <Place key={p.pattern} of={s} pattern={p.pattern} step={p.step} reload={reload} />)}
      {st.suspect && <p><a href={sourcePath(s.id, `/versions?to=${version}`)}>Look at version {version}</a></p>}
      <Remedies of={s} reload={reload} />
    </div>
  );
}

/** Place is a part that differs at nearly every poll, with the step that leaves it out. */
function Place({ of: s, pattern, step, reload }: { of: Data; pattern: string; step?: unknown; reload: () => void }) {
  const [doing, run] = useAction();
  const edit = { read: [...(s.read ?? []), step] };
  const can = step !== undefined && !s.select.css && !s.select.jsonpath;
  return (
    <p class="row wrap">
      <code class="mono one">{tidy(pattern)}</code>
      {can && <Button kind="link" busy={doing.busy} label={`Ignore this part: ${pattern}`} onClick={() => run(async () => { await send('PATCH', `/sources/${part(s.id)}`, edit); reload(); })}>Ignore this part</Button>}
      {can && <AsLines method="PATCH" url={address(`/sources/${part(s.id)}`)} body={edit} cli={sourceLine('edit', s.id, edit)} />}
      {doing.problem && <Outcome of={doing} />}
    </p>
  );
}

function Now({ of: s }: { of: Data }) {
  const why = useLoad<Why>((x) => get(`/sources/${part(s.id)}/why`, {}, x), [s.id], 15_000);
  const changes = useLoad<{ items: Change[] }>((x) => (guest() ? Promise.resolve({ items: [] }) : get('/changes/newest', { source: s.id, limit: 20 }, x)), [s.id, s.standing.changes]);
  return (
    <div class="cols">
      <div>
        <Day id={s.id} polls={s.standing.polls} />
        <Versions of={s} />
        <Fields of={s} />
        {!guest() && s.standing.changes > 0 && <Section title="Earlier changes" side={<a href={sourcePath(s.id, '/versions')}>All versions</a>}>
          <Show of={changes}>{(c) => (
            <table>
              <tbody>
                {c.items.map((x) => (
                  <tr key={x.cursor}>
                    <td class="num">{x.number}</td>
                    <td><Time at={x.before} /></td>
                    <td class="dim desk still">≤ {span(Date.parse(x.before) - Date.parse(x.after))} late</td>
                    <td class="one fill"><WhatChanged of={x} /></td>
                    <td class="num"><a href={sourcePath(s.id, `?to=${x.number}`)}>Compare</a></td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}</Show>
        </Section>}
      </div>
      <div>
        {!guest() && <Alerts of={s} />}
        <Section title="Next poll">
          <Show of={why}>{(w) => (
            <div class="panel stack">
              <p class="title">{w.next ? <>at {hour(w.next)} <small class="dim small">{Date.parse(w.next) > Date.now() ? 'in about ' + span(Math.max(1000, Date.parse(w.next) - Date.now())) : 'now'}</small></> : s.paused ? 'Paused' : 'Not known'}</p>
              <Worth of={w} />
              <p class="say">{tidy(w.sentence.replace(/^Next poll about [^.]*\. /, ''))}</p>
            </div>
          )}</Show>
        </Section>
        {why.data?.outlook && <Habits id={s.id} why={why.data} />}
        <Section title="So far">
          <Facts of={s} why={why.data} />
        </Section>
      </div>
    </div>
  );
}

const wordOf = (of: [string, string][], value: string) => of.find(([v]) => v === value)?.[1] ?? value;

function Facts({ of: s, why }: { of: Data; why?: Why }) {
  const c = why?.outlook?.captured, r = why?.outlook?.rate_per_day, now = why?.outlook?.rate_now_per_day;
  return (
    <dl class="facts">
      {c && <><dt>Share captured until now</dt><dd>{tooEarly(c) ? <span class="dim">not known yet: {tooEarly(c)}</span> : c.saturated ? <>at most {percent(c.share.high)}</> : <>{percent(c.share.mean)} <span class="dim">{percent(c.share.low)} to {percent(c.share.high)}</span></>}</dd></>}
      {r && <><dt>Changes</dt><dd>{r.words}</dd></>}
      {now && r && r.known !== 'unknown' && <><dt>At this moment</dt><dd>about {rate(now.mean)}</dd></>}
      {c && !tooEarly(c) && <><dt>Late, on average until now</dt><dd>{span(millis(c.delay))}</dd></>}
      <dt>Polls</dt><dd>{count(s.standing.polls)}</dd>
      <dt>Changes captured</dt><dd>{count(s.standing.changes)}</dd>
      <dt>Last seen</dt><dd>{s.standing.last_seen ? <Time at={s.standing.last_seen} as="ago" /> : 'never'}</dd>
      {s.life !== lives[0][0] && <><dt>A change stays visible</dt><dd>{wordOf(lives, s.life)}</dd></>}
      {s.urgency !== urgencies[0][0] && <><dt>Value of a late capture</dt><dd>{wordOf(urgencies, s.urgency)}</dd></>}
      {s.level && <><dt>Service level</dt><dd>{s.level}</dd></>}
    </dl>
  );
}

const amount = (n: number) => (n < 100 ? n.toPrecision(2) : count(n));

/** Worth draws how the value of a poll rises to the one at which polls are made. */
function Worth({ of: w }: { of: Why }) {
  const o = w.outlook;
  if (!o?.price || o.worth === undefined || !w.last_seen || !w.next) return null;
  const from = Date.parse(w.last_seen), now = Date.parse(w.at), next = Math.max(Date.parse(w.next), now + 1);
  const most = Math.max(o.price, o.worth) * 1.25;
  return (
    <>
    <Frame label={`The value of a poll now is ${amount(o.worth)}; a source is polled at ${amount(o.price)}`} height={110}>
      {(width) => {
        const right = width - 8, base = 84;
        const x = (t: number) => ((t - from) / (next - from)) * (right - 30), y = (v: number) => base - (v / most) * 70;
        const at = x(now);
        return (
          <>
            <line class="ink" x1="0" x2={right} y1={y(o.price!)} y2={y(o.price!)} />
            <line class="axis" x1="0" x2={right} y1={base} y2={base} />
            <path class="seen-line" d={`M0 ${base}Q${at * 0.6} ${base} ${at} ${y(o.worth!)}`} />
            <path class="seen-line" stroke-dasharray="2 4" d={`M${at} ${y(o.worth!)}L${x(next)} ${y(o.price!)}`} />
            <circle class="seen" cx={at} cy={y(o.worth!)} r="4" />
            <circle cx={x(next)} cy={y(o.price!)} r="4.5" fill="var(--surface)" stroke="var(--ink)" stroke-width="2" />
            <text x="0" y={base + 16}>{hour(from)} seen</text>
            <text class="ink-text" x={x(next)} y={base + 16} text-anchor="middle">{hour(next)}</text>
          </>
        );
      }}
    </Frame>
    <p class="small dim">Curve: how much a poll is worth. It is polled where the curve meets the line.</p>
    </>
  );
}

/** Day draws the polls of a day, and for each change the stretch in which it must have happened. */
function Day({ id, polls: n }: { id: string; polls: number }) {
  const polls = useLoad<{ items: Poll[] }>((s) => get(`/sources/${part(id)}/outcomes`, { limit: 500 }, s), [id, n]);
  const since = Date.now() - 86400e3;
  const recent = (polls.data?.items ?? []).filter((p) => Date.parse(p.began) > since).reverse();
  const rows = () => recent.map((p) => [moment(p.began), p.result, p.status ?? '', span(Date.parse(p.ended) - Date.parse(p.began))]);
  const [toggle, table] = useNumbers(['Poll', 'Result', 'Status', 'Took'], rows);
  return (
    <Section title="The last 24 hours" note="polls; for each change, when it must have happened" side={toggle}>
      <Show of={polls}>{() => (
        <Frame label={`${recent.length} polls in the last 24 hours, ${recent.filter((p) => p.result === 'changed').length} found a change`} height={96}>
          {(width) => {
            const right = width - 8, x = (t: number) => Math.max(0, ((t - since) / 86400e3) * right);
            return (
              <>
                <Hatch id="h-day" />
                <line class="axis" x1="0" x2={right} y1="30" y2="30" />
                {recent.map((p) => {
                  const at = x(Date.parse(p.began));
                  if (p.result === 'failed') return <path key={p.cursor} d={`M${at - 3} 15l6 6M${at + 3} 15l-6 6`} stroke="var(--flare-fill)" stroke-width="1.6" />;
                  if (p.result !== 'changed') return <line key={p.cursor} x1={at} x2={at} y1="14" y2="24" stroke="var(--edge)" />;
                  const from = p.since ? x(Date.parse(p.since)) : at;
                  return (
                    <g key={p.cursor}>
                      <line x1={at} x2={at} y1="18" y2="56" stroke="var(--river-fill)" stroke-width="1.5" />
                      <circle class="seen" cx={at} cy="18" r="4" />
                      <rect x={from} y="50" width={Math.max(3, at - from)} height="10" rx="2" fill="url(#h-day)" stroke="var(--river-fill)" />
                    </g>
                  );
                })}
                <Hours from={new Date(since).toISOString()} to={new Date().toISOString()} left={0} right={right} y={86} />
              </>
            );
          }}
        </Frame>
      )}</Show>
      {table}
    </Section>
  );
}

function Fields({ of: s }: { of: Data }) {
  const names = Object.keys(s.extract ?? {});
  if (names.length === 0) return null;
  return <Section title="Values">{names.map((n) => <OneField key={n} id={s.id} name={n} version={s.standing.version} />)}</Section>;
}

function OneField({ id, name, version }: { id: string; name: string; version: number }) {
  const field = useLoad<{ items: { version: number; seen_at: string; value: unknown }[] }>((s) => get(`/sources/${part(id)}/fields/${part(name)}`, { limit: 300 }, s), [id, name, version]);
  const items = field.data?.items ?? [];
  const points = items.filter((v) => typeof v.value === 'number').map((v) => ({ at: v.seen_at, value: v.value as number })).reverse();
  const [toggle, table] = useNumbers(['Seen', 'Version', name], () => items.map((v) => [moment(v.seen_at), v.version, value(v.value)]));
  return (
    <div>
      <div class="row"><b class="grow">{tidy(name)}</b><span class="mono">{items[0] ? tidy(value(items[0].value)) : '–'}</span>{toggle}</div>
      {points.length > 1 && <Series points={points} label={`${name} over time: ${points.length} values`} />}
      {table}
    </div>
  );
}

const results: Record<string, string> = { changed: 'found a change', unchanged: 'nothing new', first: 'first version', failed: 'failed', held: 'held: probably the wrong page' };

/** causes say why a poll was made. */
const causes: Record<string, string> = { policy: 'scheduled', hand: 'by request', strategy: 'at a fixed time', bound: 'maximum interval', doubt: 'a second look', shared: 'with another source', push: 'push notification' };

function Polls({ id }: { id: string }) {
  const [pages, more] = useState<{ items: Poll[]; next: string | null }[]>([]);
  const first = useLoad<{ items: Poll[]; next: string | null }>((s) => get(`/sources/${part(id)}/outcomes`, { limit: 100 }, s), [id]);
  const [doing, run] = useAction();
  const all = first.data ? [first.data, ...pages] : [];
  const next = all.at(-1)?.next;
  return (
    <Section title="Polls" note="newest first">
      <Show of={first}>{() => (
        <>
          <table>
            <thead><tr><th scope="col">Began</th><th scope="col">Result</th><th scope="col" class="desk">Reason</th><th scope="col" class="num">Status</th><th scope="col" class="num desk">Size</th><th scope="col" class="num">Took</th></tr></thead>
            <tbody>
              {all.flatMap((p) => p.items).map((p) => (
                <tr key={p.cursor}>
                  <td class="still" title={exact(p.began)}>{moment(p.began)}</td>
                  <td>{p.result === 'failed' ? <span class="wrong">{tidy(p.error ?? p.failure ?? 'failed')}</span> : p.version && p.result !== 'unchanged' ? <a href={sourcePath(id, `/versions?to=${p.version}`)}>{results[p.result]}</a> : results[p.result] ?? p.result}</td>
                  <td class="dim desk">{causes[p.cause] ?? p.cause}</td>
                  <td class="num">{p.status ?? ''}</td>
                  <td class="num desk">{p.bytes ? bytes(p.bytes) : ''}</td>
                  <td class="num">{span(Date.parse(p.ended) - Date.parse(p.began))}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {next && <Button needs="read" kind="link" busy={doing.busy} onClick={() => run(async () => {
            const page = await get<{ items: Poll[]; next: string | null }>(`/sources/${part(id)}/outcomes`, { limit: 100, before: next });
            more((old) => [...old, page]);
          })}>Show more</Button>}
          <Outcome of={doing} />
        </>
      )}</Show>
    </Section>
  );
}
