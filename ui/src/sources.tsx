// All sources: a list of any length, of which only the rows in view exist.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, get, part, send } from './api';
import { count, percent, plural, rate, short, tidy, tooEarly } from './format';
import { quote } from './lines';
import { up } from './live';
import { useAction, useLoad } from './load';
import { may } from './me';
import { AsLines, Bars, Button, Icon, Mark, mood, moodWords, nameOf, Outcome, sourcePath, Time, Trouble, type Mood } from './parts';
import { choose, go, here } from './router';
import type { Rate, Source, SourcePage } from './types';

interface Facets { total: number; states: Record<string, number>; tags: { name: string; count: number }[]; hosts: { name: string; count: number }[] }

const columns: [string, string, string][] = [
  ['changes', '7 days', 'c-week'], ['rate', 'Rate', 'c-often'], ['captured', 'Captured', 'c-share'], ['changed', 'Last change', 'c-changed'], ['next', 'Next poll', 'c-next'], ['polls', 'Polls', 'c-polls'],
]; // those with a name can be sorted by

/** parse splits what was typed into words and filters such as tag:news. */
export function parse(text: string): { q: string; tag?: string; state?: string; host?: string } {
  const found: Record<string, string> = {};
  const q = text.replace(/(?:^|\s)(tag|state|host):(\S+)/g, (_, key: string, value: string) => {
    found[key] = value;
    return ' ';
  }).trim();
  return { q, ...found };
}

export function Sources() {
  const query = here.value.query;
  const [typed, type] = useState(query.get('q') ?? '');
  const filter = useMemo(() => {
    const p = parse(query.get('q') ?? '');
    return { q: p.q, tag: query.get('tag') ?? p.tag ?? '', state: query.get('state') ?? p.state ?? '', host: p.host ?? '', sort: query.get('sort') ?? 'attention', reverse: query.get('reverse') ?? '' };
  }, [query.toString()]);
  const facets = useLoad<Facets>((s) => get('/sources/facets', {}, s), [], 30_000);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => choose({ q: typed }), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  const list = useList(filter);
  return (
    <>
      <div class="row wrap">
        <h1 class="title">Sources</h1>
        <span class="dim grow">{list.total === undefined ? '' : plural(list.total, 'source')}</span>
        {may('write') && <a class="button" href="/start#import"><Icon name="list" /> Import</a>}
        {may('write') && <a class="button main desk" href="/start"><Icon name="plus" /> Add a source</a>}
      </div>
      <div class="with-facets">
        <FacetBar of={facets.data} filter={filter} />
        <div>
          <label class="row">
            <span class="hidden-text">Find sources</span>
            <input ref={input} id="find-sources" type="search" class="input" placeholder="Name, address, or tag:news state:failing host:rail.example" value={typed} onInput={(e) => type(e.currentTarget.value)} />
          </label>
          <List list={list} filter={filter} />
        </div>
      </div>
    </>
  );
}

type Filter = { q: string; tag: string; state: string; host: string; sort: string; reverse: string };

function FacetBar({ of, filter }: { of?: Facets; filter: Filter }) {
  const states: Mood[] = ['well', 'failing', 'suspect', 'noisy', 'paused', 'unseen'];
  return (
    <aside class="facets" aria-label="Filters">
      <h2>State</h2>
      {states.map((s) => (
        <button key={s} type="button" aria-pressed={filter.state === s} onClick={() => choose({ state: filter.state === s ? null : s })}>
          <Mark is={s} silent /> <span class="grow">{moodWords[s]}</span> <span class="dim">{of ? count(of.states[s] ?? 0) : ''}</span>
        </button>
      ))}
      {of && of.tags.length > 0 && <h2>Tags</h2>}
      {of?.tags.slice(0, 15).map((t) => (
        <button key={t.name} type="button" aria-pressed={filter.tag === t.name} onClick={() => choose({ tag: filter.tag === t.name ? null : t.name })}>
          <span class="grow one"><bdi>{tidy(t.name)}</bdi></span> <span class="dim">{count(t.count)}</span>
        </button>
      ))}
      {of && of.hosts.length > 0 && <h2>Hosts</h2>}
      {of?.hosts.slice(0, 12).map((t) => (
        <button key={t.name} type="button" aria-pressed={filter.host === t.name} onClick={() => choose({ q: filter.host === t.name ? '' : 'host:' + t.name })}>
          <span class="grow one"><bdi>{tidy(t.name)}</bdi></span> <span class="dim">{count(t.count)}</span>
        </button>
      ))}
    </aside>
  );
}

const windowSize = 200;

interface Rows { total?: number; at: (i: number) => Source | undefined; want: (from: number, to: number) => void; problem?: Error; reload: () => void; seen: () => Source[] }

/** useList loads the rows of a filter in windows, as they come into view. */
function useList(filter: Filter): Rows {
  const key = JSON.stringify(filter);
  const [turn, again] = useState(0);
  const [, draw] = useState(0);
  const cache = useRef<{ key: string; windows: Map<number, Source[]>; asked: Set<number>; total?: number; problem?: Error } | undefined>(undefined);
  if (!cache.current || cache.current.key !== key + turn) cache.current = { key: key + turn, windows: new Map(), asked: new Set(), total: cache.current?.total };
  const c = cache.current;
  const fetchWindow = async (n: number) => {
    if (c.asked.has(n)) return;
    c.asked.add(n);
    try {
      const page = await get<SourcePage>('/sources', {
        q: filter.q, tag: filter.tag, state: filter.state, host: filter.host, sort: filter.sort, reverse: filter.reverse === 'true' ? true : undefined,
        named: true, next: true, outlook: true, total: true, offset: n * windowSize || undefined, limit: windowSize,
      });
      c.windows.set(n, page.items);
      c.total = page.total ?? page.items.length;
      c.problem = undefined;
    } catch (err) {
      c.asked.delete(n);
      c.problem = err as Error;
    }
    if (cache.current === c) draw((d) => d + 1);
  };
  useLayoutEffect(() => void fetchWindow(0), [key, turn]); // before the first paint: the answer may be there already
  return {
    total: c.total,
    at: (i) => c.windows.get(Math.floor(i / windowSize))?.[i % windowSize],
    want: (from, to) => {
      for (let n = Math.floor(from / windowSize); n <= Math.floor(to / windowSize); n++) if (c.total === undefined || n * windowSize < c.total) void fetchWindow(n);
    },
    problem: c.problem,
    reload: () => again((t) => t + 1),
    seen: () => [...c.windows.values()].flat(),
  };
}

function List({ list, filter }: { list: Rows; filter: Filter }) {
  const phone = useMatch('(max-width: 860px)');
  const height = phone ? 62 : 44;
  const box = useRef<HTMLDivElement>(null);
  const [view, see] = useState({ from: 0, to: 40 });
  const [at, move] = useState(-1);
  const [chosen, pick] = useState<Set<string>>(new Set());
  const [all, everything] = useState(false);
  const total = list.total ?? 0;
  useEffect(() => {
    if (total === 0) return; // those that come first are drawn without a look
    const look = () => {
      const top = box.current ? -box.current.getBoundingClientRect().top : 0;
      const from = Math.max(0, Math.floor(top / height) - 8), to = Math.min(Math.max(0, total - 1), Math.ceil((top + innerHeight) / height) + 8);
      see((v) => (v.from === from && v.to === to ? v : { from, to }));
      list.want(Math.max(0, from - 60), Math.min(total - 1, to + 60));
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [total, height, list]);
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target as Element).matches?.('input:not([type=checkbox]), textarea, select')) return;
      const here = list.at(at);
      if (e.key === 'j' || e.key === 'k') {
        e.preventDefault();
        const next = Math.min(total - 1, Math.max(0, at + (e.key === 'j' ? 1 : -1)));
        move(next);
        const y = (box.current?.getBoundingClientRect().top ?? 0) + next * height;
        if (y < 80 || y > innerHeight - 80) scrollBy(0, y < 80 ? y - 80 : y - innerHeight + 80);
      } else if (e.key === 'x' && here && may('write')) toggle(here.id);
      else if (e.key === 'Enter' && here && document.activeElement === document.body) go(sourcePath(here.id));
      else if (e.key === 'Escape' && (chosen.size || all)) {
        pick(new Set());
        everything(false);
      }
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  const toggle = (id: string) => {
    everything(false);
    pick((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  };
  const sort = (name: string) => choose(filter.sort === name ? { reverse: filter.reverse ? null : 'true' } : { sort: name, reverse: null });
  const filtered = !!(filter.q || filter.tag || filter.state || filter.host);
  const rows = [];
  for (let i = view.from; i <= view.to && i < total; i++) rows.push(i);
  const shownAll = chosen.size > 0 && list.seen().every((s) => chosen.has(s.id)); // while one scrolls none is looked at
  return (
    <>
      <div role="grid" aria-label="Sources" aria-rowcount={total + 1} aria-multiselectable="true">
        <div class="list-head" role="row" aria-rowindex={1}>
          <span role="columnheader">{may('write') ? <input type="checkbox" aria-label="Select all that are shown" checked={all || shownAll} onChange={(e) => pick(e.currentTarget.checked ? new Set(list.seen().map((s) => s.id)) : new Set())} /> : <span class="hidden-text">Selected</span>}</span>
          <span role="columnheader" aria-sort={filter.sort === 'attention' ? (filter.reverse ? 'ascending' : 'descending') : 'none'}><button type="button" title="Those that need attention first" aria-label="State: those that need attention first" aria-pressed={filter.sort === 'attention'} onClick={() => sort('attention')}>!</button></span>
          <span role="columnheader" aria-sort={filter.sort === 'id' ? (filter.reverse ? 'descending' : 'ascending') : 'none'}><button type="button" aria-pressed={filter.sort === 'id'} onClick={() => sort('id')}>Source</button></span>
          <span role="columnheader" class="c-tags">Tags</span>
          {columns.map(([name, word, css]) => (
            <span key={word} role="columnheader" class={'num ' + css} aria-sort={name && filter.sort === name ? (filter.reverse ? 'ascending' : 'descending') : 'none'}>
              {name ? <button type="button" aria-pressed={filter.sort === name} onClick={() => sort(name)}>{word}{filter.sort === name ? (filter.reverse ? ' ↑' : ' ↓') : ''}</button> : word}
            </span>
          ))}
        </div>
        {list.problem && <Trouble problem={list.problem as never} again={list.reload} />}
        {list.total === 0 && !filtered && <p class="empty" role="row"><span role="gridcell">Nothing is watched yet. {may('write') && <a href="/start">Add the first source</a>}</span></p>}
        {list.total === 0 && filtered && <p class="empty" role="row"><span role="gridcell">No source matches. <button type="button" class="button link" onClick={() => choose({ q: null, tag: null, state: null })}>Show all</button></span></p>}
        {list.total === undefined && !list.problem && <Bars n={8} />}
        <div class="window" role="rowgroup" ref={box} style={{ height: total * height + 'px' }}>
          {rows.map((i) => <Row key={list.at(i)?.id ?? 'row' + i} i={i} top={i * height} of={list.at(i)} chosen={all || chosen.has(list.at(i)?.id ?? '')} here={i === at} toggle={toggle} />)}
        </div>
      </div>
      {(chosen.size > 0 || all) && <Bulk ids={[...chosen]} all={all} filter={filter} total={total} everything={() => everything(true)} done={() => { pick(new Set()); everything(false); }} reload={list.reload} />}
    </>
  );
}

function Row({ i, top, of: s, chosen, here: at, toggle }: { i: number; top: number; of?: Source; chosen: boolean; here: boolean; toggle: (id: string) => void }) {
  if (!s) return <div class="slot list-row" role="row" aria-rowindex={i + 2} style={{ top: top + 'px' }} />;
  const is = mood(s);
  return (
    <div class={`slot list-row ${chosen ? 'chosen' : ''} ${at ? 'at' : ''}`} role="row" aria-rowindex={i + 2} aria-selected={chosen} style={{ top: top + 'px' }}>
      <span role="gridcell">{may('write') && <input type="checkbox" aria-label={'Select ' + nameOf(s)} checked={chosen} onChange={() => toggle(s.id)} />}</span>
      <span role="gridcell"><Mark is={is} /></span>
      <span role="gridcell" class="one">
        <a class="name one" href={sourcePath(s.id)}><bdi>{tidy(nameOf(s))}</bdi></a>
        <span class="small dim one">{is !== 'well' && <b class={'word ' + is}>{moodWords[is]} </b>}{nameOf(s) !== short(s.url) && <bdi>{tidy(short(s.url))}</bdi>}</span>
      </span>
      <span role="gridcell" class="c-tags one">{s.tags.slice(0, 3).map((t) => <a key={t} class="tag" href={'/sources?tag=' + encodeURIComponent(t)}><bdi>{tidy(t)}</bdi></a>)}</span>
      <span role="gridcell" class="c-week"><Week of={s} /></span>
      <span role="gridcell" class="num c-often one">{often(s.rate_per_day)}</span>
      <span role="gridcell" class="num c-share">{!s.captured || tooEarly(s.captured) ? <span class="dim">–</span> : <span title={`${percent(s.captured.share.low)} to ${percent(s.captured.share.high)}`}>{percent(s.captured.share.mean)}</span>}</span>
      <span role="gridcell" class="num c-changed"><Time at={s.standing.changed_at} as="ago" /></span>
      <span role="gridcell" class="num c-next">{s.paused ? '' : s.next_poll && Date.parse(s.next_poll) < Date.now() ? 'now' : <Time at={s.next_poll} as="ago" />}</span>
      <span role="gridcell" class="num c-polls">{count(s.standing.polls)}</span>
    </div>
  );
}

const dayWords = ['6 days ago', '5 days ago', '4 days ago', '3 days ago', '2 days ago', 'yesterday', 'today'];

/** Week draws how many changes there were on each of the last seven days. */
function Week({ of: s }: { of: Source }) {
  const week = s.week ?? [], most = Math.max(1, ...week);
  const words = `${plural(s.standing.changes, 'change')} in all; ` + (week.map((n, i) => n && `${count(n)} ${dayWords[i]}`).filter(Boolean).join(', ') || 'none in the last 7 days');
  return (
    <svg class="chart" viewBox="0 0 64 20" height="20" role="img" aria-label={words}>
      <title>{words}</title>
      {week.map((n, i) => <rect key={i} class={n ? 'seen' : 'idle'} x={i * 9 + 1} width="7" y={n ? 18 - Math.max(2, (n / most) * 18) : 18} height={n ? Math.max(2, (n / most) * 18) : 1} />)}
    </svg>
  );
}

/** often says in few letters how often a source changes. */
function often(r: Rate | undefined) {
  const short = r && ({ estimated: r.mean !== undefined && rate(r.mean), at_least: r.low !== undefined && '≥ ' + rate(r.low), at_most: r.high !== undefined && '≤ ' + rate(r.high), unknown: false } as Record<string, string | false>)[r.known];
  return short ? <span title={tidy(r.words)}>{short}</span> : <span class="dim" title="not known yet">–</span>;
}

interface Plan { matched: number; changed: number; done: boolean; undo?: string }

function Bulk({ ids, all, filter, total, everything, done, reload }: { ids: string[]; all: boolean; filter: Filter; total: number; everything: () => void; done: () => void; reload: () => void }) {
  const [doing, run, clear] = useAction();
  const [plan, ask] = useState<{ words: string; verb: string; edit: Record<string, unknown>; n: number }>();
  const [undo, keep] = useState<string>();
  const [tag, name] = useState('');
  const [level, aim] = useState('');
  const [css, select] = useState('');
  const [more, open] = useState<'' | 'tag' | 'level' | 'css'>('');
  const target = all ? { filter: { q: filter.q, tag: filter.tag, state: filter.state, host: filter.host } } : { ids };
  const n = all ? total : ids.length;
  const prepare = (words: string, edit: Record<string, unknown>, verb = words) => run(async () => {
    const p = await send<Plan>('POST', '/sources/bulk', { ...target, ...edit, dry_run: true });
    ask({ words, verb, edit, n: p.changed });
  });
  const carryOut = () => plan && run(async () => {
    const p = await send<Plan>('POST', '/sources/bulk', { ...target, ...plan.edit });
    ask(undefined);
    keep(p.undo);
    reload();
    return `Done: ${plan.words} ${plural(p.changed, 'source')}.`;
  });
  return (
    <div class="bulk" role="region" aria-label="Selected sources">
      <b>{plural(n, 'source')} selected</b>
      {!all && total > ids.length && <Button local kind="link" onClick={everything}>Select all {count(total)}</Button>}
      {plan ? (
        <>
          <span>{plan.words} {plural(plan.n, 'source')}?</span>
          <Button kind="main" busy={doing.busy} onClick={carryOut}>{plan.verb}</Button>
          <Button local kind="ghost" onClick={() => ask(undefined)}>Not now</Button>
          <AsLines method="POST" url={address('/sources/bulk')} body={{ ...target, ...plan.edit }} cli={lineOf(plan.edit, all ? undefined : ids, filter)} />
        </>
      ) : (
        <>
          <Button kind="ghost" icon="poll" onClick={() => prepare('Poll', { action: 'poll' })}>Poll now</Button>
          <Button kind="ghost" icon="pause" onClick={() => prepare('Pause', { action: 'pause' })}>Pause</Button>
          <Button kind="ghost" icon="play" onClick={() => prepare('Resume', { action: 'resume' })}>Resume</Button>
          <select class="input" aria-label="Change of the selected sources" value={more} onChange={(e) => open(e.currentTarget.value as typeof more)}>
            <option value="">Change…</option><option value="tag">Add a tag</option><option value="level">Set the service level</option><option value="css">Compare one element</option>
          </select>
          {more === 'tag' && <span class="row"><input class="input" size={10} aria-label="Tag to add" placeholder="tag" value={tag} onInput={(e) => name(e.currentTarget.value)} /><Button kind="ghost" icon="tag" disabled={!tag} onClick={() => prepare('Tag', { action: 'tag', tag })}>Add</Button></span>}
          {more === 'level' && <span class="row"><input class="input" size={14} aria-label="Level" placeholder="90% within 10m" value={level} onInput={(e) => aim(e.currentTarget.value)} /><Button kind="ghost" onClick={() => prepare(level.trim() ? 'Set the level of' : 'Take the level from', { action: 'level', ...(level.trim() && { level: level.trim() }) }, level.trim() ? 'Set it' : 'Take it')}>Level</Button></span>}
          {more === 'css' && <span class="row"><input class="input code" size={12} aria-label="CSS selector of what is compared" placeholder="all of the text" value={css} onInput={(e) => select(e.currentTarget.value)} /><Button kind="ghost" onClick={() => prepare('Change what is compared of', { action: 'read', ...(css.trim() && { read: [{ css: css.trim() }] }) }, 'Change it')}>Compare</Button></span>}
          <Button kind="ghost" danger onClick={() => prepare('Stop watching', { action: 'remove' })}>Stop watching</Button>
        </>
      )}
      {undo && <Button kind="link" onClick={() => run(async () => {
        await send('POST', '/sources/bulk/' + part(undo) + '/undo');
        keep(undefined);
        reload();
        return 'Undone.';
      })}>Undo</Button>}
      {undo && <AsLines method="POST" url={address('/sources/bulk/' + part(undo) + '/undo')} cli={`freshet edit bulk undo ${quote(undo)}`} />}
      <Outcome of={doing} />
      <button type="button" class="icon-button" aria-label="Select none" onClick={() => { clear(); done(); }}><Icon name="close" /></button>
      {!up.value && <span class="dim small">Freshet cannot be reached</span>}
    </div>
  );
}

/** lineOf is an edit of many sources as a line for a shell. */
function lineOf(edit: Record<string, unknown>, ids: string[] | undefined, filter: Filter): string {
  const css = (edit.read as { css: string }[] | undefined)?.[0].css;
  const value = { tag: edit.tag as string, level: (edit.level as string) ?? 'none', read: css ? 'css=' + css : 'none' }[edit.action as string];
  const chosen: [string, string | undefined][] = ids ? [['id', ids.join(',')]] : [['tag', filter.tag], ['host', filter.host], ['state', filter.state], ['find', filter.q]];
  const flags = chosen.filter(([, v]) => v).map(([k, v]) => ` --${k} ${quote(v!)}`).join('');
  return `freshet edit bulk ${edit.action as string}${value ? ' ' + quote(value) : ''}${flags || ' --all'}`;
}

/** useMatch follows a media query. */
export function useMatch(query: string): boolean {
  const [is, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const m = matchMedia(query);
    const change = () => set(m.matches);
    m.addEventListener('change', change);
    return () => m.removeEventListener('change', change);
  }, [query]);
  return is;
}
