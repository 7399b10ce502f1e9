// Versions and how two of them differ: two handles on a row of versions, and four views.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, get, part } from './api';
import { useWidth } from './charts';
import { bytes, count, moment, plural, tidy, value } from './format';
import { useLoad } from './load';
import { Button, Section, Show, sourcePath, Time } from './parts';
import { Pictures } from './pictures';
import { choose, here } from './router';
import type { Diff, FieldChange, ItemChanges, Line, Source, Version } from './types';

type View = 'lines' | 'words' | 'side' | 'rendered' | 'pictures';

const views: [View, string][] = [['lines', 'Lines'], ['words', 'Words'], ['side', 'Side by side'], ['rendered', 'Rendered']];

export function Versions({ of: s, whole }: { of: Source; whole?: boolean }) {
  const query = here.value.query;
  const list = useLoad<{ items: Version[]; next: number | null }>((x) => get(`/sources/${part(s.id)}/versions`, { limit: 200 }, x), [s.id, s.standing.version]);
  const versions = useMemo(() => [...(list.data?.items ?? [])].reverse(), [list.data]);
  const numbers = versions.map((v) => v.number);
  const to = Number(query.get('to')) || numbers.at(-1) || 0;
  // What a version was compared with: one in quarantine was not. Of one before this list the server knows.
  const before = versions.filter((v) => v.number < to && v.quiet !== 'suspect').at(-1)?.number ?? (list.data?.next ? 0 : to);
  const from = Number(query.get('from')) || before;
  const view = (query.get('view') as View) || ((s.render as { compare?: string } | undefined)?.compare === 'picture' ? 'pictures' : matchMedia('(max-width: 860px)').matches ? 'words' : 'lines');
  const set = (a: number, b: number) => choose({ from: String(Math.min(a, b)), to: String(Math.max(a, b)) });
  const step = (by: number) => {
    const i = numbers.indexOf(to) + by;
    if (i >= 1 && i < numbers.length) set(numbers[i - 1], numbers[i]);
  };
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      if (e.target !== document.body || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === '[') step(-1);
      else if (e.key === ']') step(1);
      else if (/^[1-4]$/.test(e.key)) choose({ view: views[Number(e.key) - 1][0] });
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  return (
    <Section
      title="Versions"
      note={numbers.length > 0 && <>{count(s.standing.version)}{from !== to && <> · <b>{from || ''} → {to}</b></>}</>}
      side={versions.length > 1 && (
        <span class="row">
          <Button local kind="ghost" icon="older" keys="[" disabled={numbers.indexOf(to) <= 1} onClick={() => step(-1)}>Older</Button>
          <Button local kind="ghost" icon="newer" keys="]" disabled={to === numbers.at(-1)} onClick={() => step(1)}>Newer</Button>
        </span>
      )}
    >
      <Show of={list}>{() => (versions.length === 0 ? <p class="empty">No version yet.</p> : (
        <>
          {versions.length > 1 && <Track versions={versions} from={from} to={to} set={set} />}
          <Compared of={s} versions={versions} from={from} to={to} view={view} />
          {whole && <History of={s} versions={versions} />}
        </>
      ))}</Show>
    </Section>
  );
}

/** Track is the row of versions with its two handles. */
function Track({ versions, from, to, set }: { versions: Version[]; from: number; to: number; set: (a: number, b: number) => void }) {
  const [ref, width] = useWidth();
  const box = useRef<HTMLDivElement | null>(null);
  const n = versions.length, room = Math.max(0, width - 28);
  const at = (number: number) => {
    const i = versions.findIndex((v) => v.number === number);
    return 14 + (n < 2 ? room : (Math.max(0, i) / (n - 1)) * room);
  };
  const nearest = (clientX: number) => {
    const left = box.current!.getBoundingClientRect().left;
    return versions[Math.max(0, Math.min(n - 1, Math.round(((clientX - left - 14) / (room || 1)) * (n - 1))))].number;
  };
  const handle = (which: 'A' | 'B') => {
    const mine = which === 'A' ? from : to, other = which === 'A' ? to : from;
    const move = (number: number) => (which === 'A' ? number < other : number > other) && (which === 'A' ? set(number, other) : set(other, number));
    const key = (e: KeyboardEvent) => {
      const i = versions.findIndex((v) => v.number === mine);
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -n, End: n }[e.key];
      if (by === undefined) return;
      e.preventDefault();
      e.stopPropagation();
      move(versions[Math.max(0, Math.min(n - 1, i + by))].number);
    };
    const drag = (e: PointerEvent) => {
      const el = e.currentTarget as HTMLElement;
      if (e.type === 'pointerdown') el.setPointerCapture(e.pointerId);
      else if (el.hasPointerCapture(e.pointerId)) move(nearest(e.clientX));
    };
    const v = versions.find((v) => v.number === mine);
    return (
      <button
        type="button" role="slider" class={`handle ${which.toLowerCase()}`} style={{ left: at(mine) + 'px' }} onKeyDown={key} onPointerDown={drag} onPointerMove={drag}
        aria-label={which === 'A' ? 'Older version' : 'Newer version'} aria-valuemin={versions[0].number} aria-valuemax={versions[n - 1].number} aria-valuenow={mine} aria-valuetext={`Version ${mine}${v ? ', ' + moment(v.seen_at) : ''}`}
      >{which}</button>
    );
  };
  return (
    <div class="track" ref={(el) => { box.current = el; ref(el); }}>
      <svg aria-hidden="true">
        <line x1="14" x2={14 + room} y1="36" y2="36" stroke="var(--line-2)" />
        {versions.map((v) => <line key={v.number} x1={at(v.number)} x2={at(v.number)} y1="32" y2="40" stroke={v.quiet ? 'var(--amber-fill)' : 'var(--edge)'} />)}
        <line x1={at(from)} x2={at(to)} y1="36" y2="36" stroke="var(--ink)" stroke-width="2" />
        {[from, to].map((k) => <line key={k} x1={at(k)} x2={at(k)} y1="24" y2="40" stroke="var(--ink)" stroke-width="2" />)}
      </svg>
      {width > 0 && handle('A')}
      {width > 0 && handle('B')}
    </div>
  );
}

function Compared({ of: s, versions, from, to, view }: { of: Source; versions: Version[]; from: number; to: number; view: View }) {
  const pictures = [from, to].every((n) => versions.find((v) => v.number === n)?.screenshot_bytes);
  const offered: [View, string][] = pictures ? [...views, ['pictures', 'Screenshots']] : views;
  const single = from === to;
  return (
    <>
      <div class="row wrap">
        <div class="segment" role="group" aria-label="How to compare">
          {offered.map(([v, word]) => <button key={v} type="button" aria-pressed={view === v} onClick={() => choose({ view: v })}>{word}</button>)}
        </div>
      </div>
      {view === 'rendered' ? <Rendered id={s.id} number={to} /> : view === 'pictures' && pictures ? <Pictures id={s.id} from={from} to={to} /> : single ? <Whole id={s.id} number={to} /> : <Differences id={s.id} from={from} to={to} view={view} />}
    </>
  );
}

/** Whole shows the text of a single version. */
function Whole({ id, number }: { id: string; number: number }) {
  const text = useLoad<string>((s) => get(`/sources/${part(id)}/versions/${number}/text`, {}, s), [id, number]);
  return <Show of={text}>{(t) => String(t).trim() === '' ? <p class="empty">This version has no text.</p> : <div class="diff"><ol>{String(t).split('\n').slice(0, 2000).map((l, i) => <li key={i}><bdi>{tidy(l)}</bdi></li>)}</ol></div>}</Show>;
}

const mostLines = 10_000;

function Differences({ id, from, to, view }: { id: string; from: number; to: number; view: View }) {
  const diff = useLoad<Diff>((s) => get(`/sources/${part(id)}/diff`, { from, to }, s), [id, from, to]);
  const [at, move] = useState(0);
  const [most, more] = useState(mostLines);
  const box = useRef<HTMLDivElement>(null);
  const jump = (by: number) => {
    const n = diff.data?.hunks?.length ?? 0;
    if (!n) return;
    const next = (at + by + n) % n;
    move(next);
    box.current?.querySelector(`[data-hunk="${next}"]`)?.scrollIntoView({ block: 'center' });
  };
  useLayoutEffect(() => { // at once: the next key may come before the next frame
    const key = (e: KeyboardEvent) => {
      if (e.target === document.body && e.key === 'n' && !e.ctrlKey) jump(1);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  return (
    <Show of={diff} bars={6}>{(d) => (
      <div ref={box}>
        <p class="row small">
          <span class="grow"><span class="ins">+{count(d.added)}</span> <span class="del">−{count(d.removed)}</span> lines{d.moved ? `, ${count(d.moved)} moved` : ''}</span>
          {d.hunks?.length > 1 && <>
            <Button local kind="ghost" icon="up" label="Difference before" onClick={() => jump(-1)} />
            <span>{at + 1} of {d.hunks.length}</span>
            <Button local kind="ghost" icon="down" label="Next difference" onClick={() => jump(1)} />
          </>}
        </p>
        <Details fields={d.fields} items={d.items} picture={d.picture} />
        {d.coarse ? <p class="empty">The texts are too long to compare line by line.</p> : !d.hunks?.length ? <p class="empty">The texts are the same.</p> : view === 'side' ? <Sides of={d} most={most} /> : <Lines of={d} words={view === 'words'} most={most} />}
        {d.hunks?.reduce((n, h) => n + h.lines.length, 0) > most && <Button local kind="link" onClick={() => more(most + mostLines)}>Show more lines</Button>}
      </div>
    )}</Show>
  );
}

function Details({ fields, items, picture }: { fields?: FieldChange[]; items?: ItemChanges; picture?: Diff['picture'] }) {
  if (!fields?.length && !items && !picture) return null;
  return (
    <table class="values">
      <tbody>
        {picture && <tr><td>picture</td><td>{Number((picture.share * 100).toPrecision(2))}% changed, in {plural(picture.region_count, 'place')}</td></tr>}
        {fields?.map((f) => <tr key={f.name}><td>{tidy(f.name)}</td><td class="mono">{f.from !== null && <del>{tidy(value(f.from))}</del>} {f.to !== null && <ins>{tidy(value(f.to))}</ins>}</td></tr>)}
        {items?.added?.map((i) => <tr key={i.key}><td>new</td><td class="mono"><ins><bdi>{tidy(i.title || i.text || i.key)}</bdi></ins></td></tr>)}
        {items?.updated?.map((i) => <tr key={i.key}><td>updated</td><td class="mono"><bdi>{tidy(i.title || i.key)}</bdi> <span class="dim">{i.fields.join(', ')}</span></td></tr>)}
        {items?.gone?.map((i) => <tr key={i.key}><td>gone</td><td class="mono"><del><bdi>{tidy(i.title || i.key)}</bdi></del></td></tr>)}
      </tbody>
    </table>
  );
}

const bytesOf = new TextEncoder(), textOf = new TextDecoder();

/** marked splits a line at the part that is different; marks count bytes. */
function marked(l: Line): [string, string, string] {
  if (!l.mark) return ['', l.text, ''];
  const b = bytesOf.encode(l.text);
  return [textOf.decode(b.subarray(0, l.mark.from)), textOf.decode(b.subarray(l.mark.from, l.mark.to)), textOf.decode(b.subarray(l.mark.to))];
}

function Text({ of: l, whole }: { of: Line; whole?: boolean }) {
  const [a, b, c] = marked(l);
  if (l.op === ' ') return <bdi>{tidy(l.text)}</bdi>;
  const Part = l.op === '+' ? 'ins' : 'del';
  if (!l.mark) return <bdi>{whole ? <Part>{tidy(b)}</Part> : tidy(b)}</bdi>;
  return <bdi>{tidy(a)}<Part>{tidy(b)}</Part>{tidy(c)}</bdi>;
}

/** Lines shows the hunks from top to bottom; with words, changed pairs are one line. */
function Lines({ of: d, words, most }: { of: Diff; words: boolean; most: number }) {
  let left = most, end = 1;
  return (
    <div class="diff">
      <ol>
        {d.hunks.map((h, n) => {
          const alike = h.old_start - end;
          end = h.old_start + h.old_lines;
          const lines = h.lines.slice(0, Math.max(0, left));
          left -= h.lines.length;
          return (
            <>
              {alike > 0 && <li class="gap" key={`g${n}`}>{plural(alike, 'line')} alike</li>}
              {rowsOf(lines, words).map((r, i) => (
                <li key={`${n}.${i}`} class={r.length > 1 ? '' : r[0].op === '+' ? 'add' : r[0].op === '-' ? 'cut' : ''} data-hunk={i === 0 ? n : undefined}>
                  {r.length > 1 ? <Pair old={r[0]} now={r[1]} /> : <>{r[0].op !== ' ' && <span class="hidden-text">{r[0].op === '+' ? 'added: ' : 'removed: '}</span>}<Text of={r[0]} /></>}
                </li>
              ))}
            </>
          );
        })}
      </ol>
    </div>
  );
}

/** rowsOf joins a removed line with the added one that replaced it, if only a part differs. */
function rowsOf(lines: Line[], words: boolean): Line[][] {
  if (!words) return lines.map((l) => [l]);
  const rows: Line[][] = [];
  for (let i = 0; i < lines.length;) {
    let cut = i;
    while (cut < lines.length && lines[cut].op === '-') cut++;
    let add = cut;
    while (add < lines.length && lines[add].op === '+') add++;
    if (cut === i && add === i) {
      rows.push([lines[i++]]);
      continue;
    }
    const pairs = Math.min(cut - i, add - cut);
    for (let k = 0; k < Math.max(cut - i, add - cut); k++) {
      const old = i + k < cut ? lines[i + k] : undefined, now = cut + k < add ? lines[cut + k] : undefined;
      if (k < pairs && old!.mark && now!.mark) rows.push([old!, now!]);
      else {
        if (old) rows.push([old]);
        if (now) rows.push([now]);
      }
    }
    i = add;
  }
  return rows;
}

function Pair({ old, now }: { old: Line; now: Line }) {
  const [a, was, c] = marked(old), [, is] = marked(now);
  return <bdi>{tidy(a)}{was && <del>{tidy(was)}</del>}{was && is ? ' ' : ''}{is && <ins>{tidy(is)}</ins>}{tidy(c)}</bdi>;
}

function Sides({ of: d, most }: { of: Diff; most: number }) {
  let end = 1;
  return (
    <div class="diff" tabIndex={0} role="region" aria-label="Side by side">
      <table>
        <thead><tr><td class="no" /><th scope="col">Version {d.from.number}</th><td class="no" /><th scope="col">Version {d.to.number}</th></tr></thead>
        <tbody>
          {d.hunks.flatMap((h, n) => {
            const alike = h.old_start - end;
            end = h.old_start + h.old_lines;
            const rows = sides(h.lines.slice(0, most)).map(([a, b], i) => (
              <tr key={`${n}.${i}`} data-hunk={i === 0 ? n : undefined}>
                <td class="no">{a?.old ?? ''}</td><td class={a ? (a.op === '-' ? 'cut' : '') : 'void'}>{a && <Text of={a} />}</td>
                <td class="no">{b?.new ?? ''}</td><td class={b ? (b.op === '+' ? 'add' : '') : 'void'}>{b && <Text of={b} />}</td>
              </tr>
            ));
            return alike > 0 ? [<tr key={`g${n}`}><td class="no">⋯</td><td class="dim">{plural(alike, 'line')} alike</td><td class="no">⋯</td><td class="dim" /></tr>, ...rows] : rows;
          })}
        </tbody>
      </table>
    </div>
  );
}

function sides(lines: Line[]): [Line?, Line?][] {
  const rows: [Line?, Line?][] = [];
  for (let i = 0; i < lines.length;) {
    if (lines[i].op === ' ') {
      rows.push([lines[i], lines[i]]);
      i++;
      continue;
    }
    let cut = i;
    while (cut < lines.length && lines[cut].op === '-') cut++;
    let add = cut;
    while (add < lines.length && lines[add].op === '+') add++;
    for (let k = 0; k < Math.max(cut - i, add - cut); k++) rows.push([i + k < cut ? lines[i + k] : undefined, cut + k < add ? lines[cut + k] : undefined]);
    i = Math.max(add, i + 1);
  }
  return rows;
}

/** Rendered shows a version as a page that runs nothing and loads nothing. */
function Rendered({ id, number }: { id: string; number: number }) {
  return (
    <>
      <p class="small dim">Without scripts, pictures and anything that the page would load.</p>
      <iframe class="frame" sandbox="" title={`Version ${number}, rendered`} src={address(`/sources/${part(id)}/versions/${number}/rendered`)} />
    </>
  );
}

function History({ of: s, versions }: { of: Source; versions: Version[] }) {
  return (
    <table class="history">
      <thead><tr><th scope="col" class="num">Version</th><th scope="col">Seen</th><th scope="col">Title</th><th scope="col" class="num desk">Text</th><th scope="col" class="num desk">As sent</th><td /></tr></thead>
      <tbody>
        {[...versions].reverse().map((v) => (
          <tr key={v.number}>
            <td class="num"><a href={sourcePath(s.id, `/versions?to=${v.number}`)}>{v.number}</a></td>
            <td><Time at={v.seen_at} /></td>
            <td class="one fill"><bdi>{tidy(v.title ?? '')}</bdi>{v.quiet && <span class="tag">{v.quiet}</span>}</td>
            <td class="num desk">{bytes(v.text_bytes)}</td>
            <td class="num desk">{bytes(v.raw_bytes)}</td>
            <td class="num"><a href={address(`/sources/${part(s.id)}/versions/${v.number}/raw`)} download>Download</a></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
