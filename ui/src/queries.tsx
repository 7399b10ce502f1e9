// Queries: alerts when changes meet a condition, tried on history, and who receives them.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { address, ask, get, part, Problem, send } from './api';
import { Acknowledge } from './alert';
import { Builder, Condition } from './condition';
import { Frame } from './charts';
import { count, dayOf, plural, tidy, value } from './format';
import { back } from './live';
import { queryLine, quote } from './lines';
import { useAction, useLoad } from './load';
import { guest, may } from './me';
import { AsLines, Bars, Button, calledIn, Field, Icon, Mark, Outcome, Section, Show, Time, useNumbers, useTitle, WhatChanged } from './parts';
import { go } from './router';
import { Share } from './share';
import { WhoIsTold } from './sinks';
import type { Finding, Match, Query } from './types';

export function Queries({ id }: { id: string }) {
  return guest() ? <Shared id={id} /> : <Own id={id} />;
}

/** Shared is a query as somebody sees it who came by a link. */
function Shared({ id }: { id: string }) {
  const query = useLoad<Query>((s) => get('/queries/' + part(id), {}, s), [id], 15_000);
  useTitle(query.data?.name || id);
  return (
    <Show of={query}>{(q) => (
      <>
        <h1 class="title"><bdi>{tidy(q.name || q.id)}</bdi></h1>
        <p class="mono">{tidy(q.when || 'Every change matches')}</p>
        <Matches id={id} n={q.matches} />
      </>
    )}</Show>
  );
}

function Own({ id }: { id: string }) {
  const list = useLoad<{ items: Query[] }>((s) => get('/queries', {}, s), [], 15_000);
  return (
    <div class={'side ' + (id ? 'one-open' : '')}>
      {id && <a class="phone" href="/queries">All queries</a>}
      <div class="pick">
        <Section title="Queries" note={list.data ? count(list.data.items.length) : ''} side={may('write') && <a class="button ghost" href="/queries/new"><Icon name="plus" /> New</a>}>
          <Show of={list}>{(l) => (
            <>
              {l.items.length === 0 && <p class="empty">A query notifies you when changes meet a condition: a price below 200, a new item with a word, a page that is silent for too long.</p>}
              {l.items.map((q) => (
                <a key={q.id} href={'/queries/' + encodeURIComponent(q.id)} aria-current={q.id === id ? 'true' : undefined}>
                  <b class="one"><bdi>{tidy(q.name || q.id)}</bdi></b>
                  <span class="small dim">{q.paused ? 'off' : plural(q.matches, 'match', 'matches')}{q.waiting ? `, ${q.waiting.count} wait` : ''}</span>
                </a>
              ))}
            </>
          )}</Show>
        </Section>
      </div>
      <div>{id === '' ? <Intro /> : id === 'new' ? <Editor key="new" reload={list.reload} /> : <Existing key={id} id={id} reload={list.reload} />}</div>
    </div>
  );
}

function Intro() {
  const examples: [string, string][] = [
    ['A price falls by 10%', 'percent(before.price, now.price) <= -10'],
    ['A new item has a word in its title', 'items.added.exists(i, mentions(i.title, "security"))'],
    ['New text has a word', 'mentions(added, "Freshet")'],
    ['Any source with a tag changes', '"shop" in source.tags'],
  ];
  return (
    <>
    <h1 class="hidden-text">Queries</h1>
    <Section title="Examples">
      <table><tbody>{examples.map(([words, when]) => <tr key={when}><td>{words}</td><td class="mono">{when}</td><td class="num"><a href={'/queries/new?when=' + encodeURIComponent(when) + '&name=' + encodeURIComponent(words)}>Try it</a></td></tr>)}</tbody></table>
    </Section>
    </>
  );
}

function Existing({ id, reload }: { id: string; reload: () => void }) {
  const query = useLoad<{ data: Query; etag: string }>((s) => ask<Query>('GET', address('/queries/' + part(id)), undefined, { signal: s }), [id]);
  return <Show of={query}>{({ data, etag }) => <Editor of={data} etag={etag} reload={() => { reload(); query.reload(); }} />}</Show>;
}

interface Draft { name: string; when: string; value: string; tags: string; sources: string; digest: string; quiet: string; rate: string; window: string; repeat: string; trigger: string }

const triggers: [string, string][] = [
  ['', 'the usual for the condition'], ['becomes', 'when it becomes true'], ['first', 'when it becomes true, or is true at first'], ['each', 'at each change, while it is true'], ['poll', 'at each poll, while it is true'],
];

const plain = (v: unknown): string => (v === undefined || v === null ? '' : typeof v === 'string' ? v : JSON.stringify(v));

function draftOf(q?: Query): Draft {
  const asked = new URLSearchParams(location.search);
  return {
    name: q?.name ?? asked.get('name') ?? '', when: q?.when ?? asked.get('when') ?? '', value: q?.value ?? '', tags: q?.scope?.tags?.join(', ') ?? '', sources: q?.scope?.sources?.join(', ') ?? '',
    digest: plain(q?.digest), quiet: plain(q?.quiet), rate: q?.rate ?? '', window: plain(q?.window), repeat: q?.repeat ?? '', trigger: q?.trigger ?? '',
  };
}

const words = (text: string) => text.split(',').map((t) => t.trim()).filter(Boolean);

/** bodyOf is a draft as the API takes it; what is empty is left out. */
function bodyOf(d: Draft): Record<string, unknown> {
  const said = (text: string): unknown => {
    if (/^\s*[{[]/.test(text)) {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    }
    return text.trim();
  };
  const body: Record<string, unknown> = { name: d.name, when: d.when, value: d.value, digest: said(d.digest), quiet: said(d.quiet), rate: d.rate, window: said(d.window), repeat: d.repeat.trim(), trigger: d.trigger };
  for (const key of Object.keys(body)) if (body[key] === '') delete body[key];
  const tags = words(d.tags), sources = words(d.sources);
  if (tags.length || sources.length) body.scope = { ...(tags.length && { tags }), ...(sources.length && { sources }) };
  return body;
}

/** patchOf turns a query into what was typed, as a merge patch: what is gone is null, in objects too. */
function patchOf(q: Query, body: Record<string, unknown>): Record<string, unknown> {
  const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v);
  const replace = (old: unknown, now: unknown): unknown =>
    isObject(old) && isObject(now) ? { ...Object.fromEntries(Object.keys(old).map((k) => [k, null])), ...now } : now ?? null;
  const typed = ['name', 'when', 'value', 'scope', 'digest', 'quiet', 'rate', 'window', 'repeat', 'trigger'] as const;
  const patch: Record<string, unknown> = Object.fromEntries(typed.map((k) => [k, replace(q[k], body[k])]));
  if (q.scope?.sites) patch.scope = { ...(replace(q.scope, body.scope ?? {}) as object), sites: q.scope.sites }; // cannot be typed here
  return patch;
}

function Editor({ of: q, etag = '', reload }: { of?: Query; etag?: string; reload: () => void }) {
  const [draft, set] = useState(() => draftOf(q));
  const [doing, run] = useAction();
  const [trial, tried] = useState<{ found?: Finding; problem?: Problem; stale: boolean; busy: boolean }>({ stale: false, busy: true });
  const body = useMemo(() => bodyOf(draft), [draft]);
  const key = JSON.stringify(body);
  useEffect(() => {
    let over = false;
    const timer = setTimeout(async () => {
      tried((t) => ({ ...t, busy: true }));
      try {
        const found = await send<Finding>('POST', '/queries/test', { ...body, since: '30d', limit: 300 });
        if (!over) tried({ found, stale: false, busy: false });
      } catch (err) {
        if (!over) tried((t) => ({ found: t.found, problem: err as Problem, stale: true, busy: false }));
      }
    }, 250);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [key, back.value]);
  const save = () => run(async () => {
    if (!q) {
      const added = await send<Query>('POST', '/queries', { ...body, name: body.name ?? (draft.when.trim().slice(0, 60) || 'All changes') });
      reload();
      go('/queries/' + encodeURIComponent(added.id), true);
      return;
    }
    await send('PATCH', '/queries/' + part(q.id), patchOf(q, body), {}, etag);
    reload();
    return 'Saved.';
  });
  const remove = () => q && confirm(`Remove ${q.name || q.id} with its matches?`) && run(async () => {
    await send('DELETE', '/queries/' + part(q.id));
    reload();
    go('/queries');
  });
  const pause = () => q && run(async () => {
    await send('PATCH', '/queries/' + part(q.id), { paused: !q.paused });
    reload();
  });
  const listed = q?.origin === 'file';
  useTitle(draft.name || q?.id || 'New query');
  const types = trial.found?.fields ?? {}, fields = Object.keys(types);
  const field = (k: keyof Draft, label: string, help: string) => (
    <Field label={label} help={help} wrong={(trial.problem ?? doing.problem)?.at('body.' + k)}>
      <input class="input" value={draft[k]} onInput={(e) => set({ ...draft, [k]: e.currentTarget.value })} />
    </Field>
  );
  return (
    <>
      <div class="row wrap headline">
        <h1 class="title grow"><bdi>{tidy(draft.name || q?.id || 'A new query')}</bdi></h1>
        {q && <Share what="query" id={q.id} />}
        {q && <Acknowledge of={q} done={reload} />}
        {q && <Button kind="ghost" icon={q.paused ? 'play' : 'pause'} onClick={pause}>{q.paused ? 'Turn on' : 'Turn off'}</Button>}
        <AsLines {...(q ? { method: 'PATCH', url: address('/queries/' + part(q.id)), body: patchOf(q, body), cli: queryLine('edit', q.id, body) }
          : { method: 'POST', url: address('/queries'), body, cli: queryLine('add', draft.name || 'NAME', body) })}
          also={q && [{ method: 'PATCH', url: address('/queries/' + part(q.id)), body: { paused: !q.paused }, cli: `freshet query edit ${quote(q.id)} --${q.paused ? 'resume' : 'pause'}` },
            { method: 'DELETE', url: address('/queries/' + part(q.id)), cli: `freshet query remove ${quote(q.id)}` }]} />
        <Button kind="main" busy={doing.busy} disabled={listed || !!trial.problem} onClick={save}>Save</Button>
      </div>
      {listed && <p class="say">The configuration file lists this query; edit it there.</p>}
      <Outcome of={doing} />
      <div class="form">{field('name', 'Name', q ? '' : 'empty means one made of the condition')}</div>
      <Section title="Condition" note="as rows or as text, in CEL">
        <div class="stack">
          <Builder value={draft.when} set={(when) => set({ ...draft, when })} fields={fields} numeric={(f) => types[f] === 'number'} />
          <Condition value={draft.when} set={(when) => set({ ...draft, when })} problem={trial.problem} busy={trial.busy} fields={fields} />
        </div>
      </Section>
      <details class="section">
        <summary>More: which sources, when and how often it is sent</summary>
        <div class="form">
          {field('tags', 'Only sources with these tags', 'separated by commas')}
          {field('sources', 'Only these sources', 'IDs, separated by commas')}
          {field('value', 'Value to send', 'such as now.price')}
          {field('window', 'Look back', 'such as 1h, or {"by": "source.site", "over": "30d"}')}
          {field('digest', 'Send in one message', 'such as daily 08:00 Europe/Berlin')}
          {field('quiet', 'Quiet hours', 'such as 22:00-07:00 Europe/Berlin')}
          {field('rate', 'Send at most', 'such as 10/h')}
          {field('repeat', 'Send again', 'such as 30m, until it is acknowledged')}
          <Field label="It matches" wrong={(trial.problem ?? doing.problem)?.at('body.trigger')}>
            <select class="input" value={draft.trigger} onChange={(e) => set({ ...draft, trigger: e.currentTarget.value })}>
              {triggers.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
            </select>
          </Field>
        </div>
      </details>
      <Tried of={trial} rows={!q || draft.when !== (q.when ?? '')} />
      {q && <Matches id={q.id} n={q.matches} />}
      {q && <WhoIsTold query={q.id} />}
      {q && !listed && <p class="section"><Button kind="ghost" danger icon="trash" onClick={remove}>Remove the query</Button></p>}
    </>
  );
}

function Tried({ of: t, rows }: { rows: boolean; of: { found?: Finding; problem?: Problem; stale: boolean; busy: boolean } }) {
  const f = t.found;
  return (
    <Section title="Tried on the last 30 days" note={f ? `${count(f.found)} of ${plural(f.scanned, 'change')} would match${t.stale ? ', before the mistake' : ''}` : ''}>
      {!f ? t.busy ? <Bars n={4} /> : <p class="empty">Nothing was tried yet.</p> : (
        <>
          {f.warnings?.map((w) => <p key={w} class="small"><Mark is="level" silent /> {tidy(w)}</p>)}
          {f.missing ? <p class="small dim">{plural(f.missing, 'change')} come from sources without this value.</p> : null}
          {f.items.length > 0 && <ThirtyDays of={f} />}
          {(rows || f.items.length === 0) && <MatchRows items={[...f.items].reverse().slice(0, 25)} word="would match" />}
        </>
      )}
    </Section>
  );
}

/** ThirtyDays draws how many changes match on each of the last 30 days. */
function ThirtyDays({ of: f }: { of: Finding }) {
  const today = new Date().setHours(0, 0, 0, 0), day = 86400e3;
  const days = Array.from({ length: 30 }, (_, i) => ({ at: today - (29 - i) * day, n: 0 }));
  for (const m of f.items) {
    const i = 29 - Math.round((today - new Date(m.at).setHours(0, 0, 0, 0)) / day);
    if (days[i]) days[i].n++;
  }
  const [toggle, table] = useNumbers(['Day', 'Matches'], () => days.map((d) => [dayOf(new Date(d.at).toISOString()), d.n]));
  const most = Math.max(1, ...days.map((d) => d.n));
  return (
    <>
      <Frame label={`Matches on each of the last 30 days, at most ${most}`} height={84}>
        {(width) => {
          const step = width / 30, w = Math.max(2, step - 3);
          return (
            <>
              <text x={0} y={10}>{most}</text>
              {days.map((d, i) => <rect key={i} class={d.n ? 'seen' : 'idle'} x={i * step} y={d.n ? 62 - (d.n / most) * 46 : 61} width={w} height={d.n ? (d.n / most) * 46 : 1} />)}
              <line class="axis" x1={0} x2={width} y1={62} y2={62} />
              {(width > 500 ? [0, 10, 20, 29] : [0, 29]).map((i) => <text key={i} x={i * step + (i === 29 ? w : 0)} y={78} text-anchor={i === 29 ? 'end' : 'start'}>{dayOf(new Date(days[i].at).toISOString())}</text>)}
            </>
          );
        }}
      </Frame>
      <p class="row">{f.found > f.items.length && <span class="small dim grow">The newest {count(f.items.length)} of {count(f.found)} are drawn.</span>}{toggle}</p>
      {table}
    </>
  );
}

function MatchRows({ items, word }: { items: Match[]; word: string }) {
  if (items.length === 0) return <p class="empty">No matches.</p>;
  return (
    <table>
      <tbody>
        {items.map((m) => (
          <tr key={m.cursor || m.number}>
            <td><Time at={m.at} /></td>
            <td class="one">{m.source && <a href={'/sources/' + encodeURIComponent(m.source) + (m.change ? '?to=' + m.change.number : '')}><bdi>{tidy(m.change ? calledIn(m.change) : m.source)}</bdi></a>}</td>
            <td class="one fill">{m.change ? <WhatChanged of={m.change} /> : <span class="dim">{m.cause}</span>}</td>
            <td class="mono one desk" title={m.value === undefined ? undefined : tidy(value(m.value))}>{m.value === undefined ? '' : tidy(value(m.value))}</td>
            <td class="num dim desk">{word}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Matches({ id, n }: { id: string; n: number }) {
  const list = useLoad<{ items: Match[] }>((s) => get(`/queries/${part(id)}/matches`, { newest: true, limit: 25 }, s), [id, n], 10_000);
  return (
    <Section title="Matches" note={count(n)} side={<a href={`/api/v1/queries/${part(id)}/feed.atom`} target="_blank" rel="noreferrer">Atom</a>}>
      <Show of={list}>{(l) => <MatchRows items={l.items} word="" />}</Show>
    </Section>
  );
}
