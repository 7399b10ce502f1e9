// Import: a list that was pasted, dropped or chosen, and the result of each entry.
import { useEffect, useState } from 'preact/hooks';
import { address, Problem, send } from './api';
import { count, plural, short, tidy } from './format';
import { quote } from './lines';
import { useAction } from './load';
import { AsLines, Button, Field, Mark, Outcome, Section, sourcePath } from './parts';

interface Item { line?: number; path?: string; result: 'added' | 'known' | 'wrong'; id?: string; url?: string; name?: string; tags?: string[]; read?: unknown[]; notes?: string[]; error?: string }
interface Imported { format: string; dry_run?: boolean; added: number; known: number; wrong: number; items: Item[]; queries?: string[]; sinks?: Sink[] }
interface Sink { name: string; notes?: string[]; error?: string }

const formats: Record<string, string> = { urls: 'a list of addresses', csv: 'a table with addresses', opml: 'OPML of a feed reader', bookmarks: 'bookmarks of a browser', urlwatch: 'jobs of urlwatch', webchanges: 'jobs of webchanges', changedetection: 'an export of changedetection.io', distill: 'an export of Distill', huginn: 'a scenario of Huginn', warc: 'a web archive (WARC)', timemap: 'the TimeMap of a web archive' };
const most = 200; // entries are shown
const longest = 700_000; // characters; the server takes a megabyte

export function Bring() {
  const [text, type] = useState('');
  const [file, name] = useState('');
  const [tags, tag] = useState('');
  const [at, point] = useState('');
  const [plan, show] = useState<Imported>();
  const [wrong, say] = useState<Problem>();
  const [over, drag] = useState(false);
  const [doing, run] = useAction();
  const words = tags.split(',').map((t) => t.trim()).filter(Boolean);
  const body = { text, ...(words.length && { tags: words }) };
  const key = JSON.stringify([text, words]);
  // What would become of it is said as one types, and nothing is watched before.
  useEffect(() => {
    say(undefined);
    if (!text.trim()) {
      show((p) => (p?.dry_run ? undefined : p));
      return;
    }
    let gone = false;
    const timer = setTimeout(async () => {
      try {
        const p = await send<Imported>('POST', '/import', { ...body, dry_run: true });
        if (!gone) show(p);
      } catch (err) {
        if (gone) return;
        show(undefined);
        say(err as Problem);
      }
    }, 300);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [key]);
  const open = async (f: File | undefined) => {
    if (!f) return;
    if (f.size > longest) return say(new Problem(`${f.name} is too long; bring it in parts.`, -1));
    name(f.name);
    type(await f.text());
  };
  const fetchIt = () => run(async () => {
    const d = await send<{ body: string }>('POST', '/import/document', { url: at });
    name(at);
    type(new TextDecoder().decode(Uint8Array.from(atob(d.body), (c) => c.charCodeAt(0))));
    return '';
  });
  const take = () => run(async () => {
    const done = await send<Imported>('POST', '/import', body);
    show(done);
    type('');
    name('');
    return `${plural(done.added, 'source')} added${done.known ? `, ${count(done.known)} watched already` : ''}${done.wrong ? `, ${count(done.wrong)} could not be added` : ''}.`;
  });
  return (
    <Section title="Import a list">
      <div
        class={`drop ${over ? 'over' : ''}`} onDragOver={(e) => { e.preventDefault(); drag(true); }} onDragLeave={() => drag(false)}
        onDrop={(e) => { e.preventDefault(); drag(false); void open(e.dataTransfer?.files[0]); }}
      >
        <Field label="Paste a list, or drop a file here" help="One URL per line, tags after it; CSV, OPML, bookmarks; or a file of urlwatch, webchanges, changedetection.io, Distill or Huginn. You see a preview first." wrong={wrong ? tidy(wrong.at('body.text') ?? wrong.title) : undefined}>
          <textarea class="input code" rows={6} spellcheck={false} placeholder={'https://rail.example/status.json transport\nhttps://parliament.example/bills.atom gov'} value={text} onInput={(e) => { name(''); type(e.currentTarget.value); }} />
        </Field>
        <p><label class="button">Choose a file<input type="file" class="hidden-text" accept=".txt,.csv,.html,.opml,.xml,.yaml,.yml,.json" onChange={(e) => void open(e.currentTarget.files?.[0])} /></label></p>
      </div>
      <div class="row wrap">
        <Field label="Or the address of a list"><input class="input" type="url" placeholder="https://blog.example/blogroll.opml" value={at} onInput={(e) => point(e.currentTarget.value)} /></Field>
        <Button busy={doing.busy} disabled={!/^https?:\/\//.test(at)} onClick={fetchIt}>Fetch</Button>
      </div>
      <Field label="Tags for all of them" help="separated by commas"><input class="input" value={tags} onInput={(e) => tag(e.currentTarget.value)} /></Field>
      {plan && <Plan of={plan} file={file} />}
      <div class="row wrap">
        <Button kind={plan?.dry_run ? 'main' : undefined} busy={doing.busy} disabled={!plan?.dry_run || plan.added === 0} onClick={take}>{plan?.dry_run && plan.added ? `Watch ${plural(plan.added, 'page')}` : 'Watch them'}</Button>
        {text.trim() && <AsLines method="POST" url={address('/import')} body={{ ...body, text: text.length > 400 ? text.slice(0, 400) + '…' : text }} cli={`freshet import ${quote(file || 'FILE')}${words.map((w) => ' --tag ' + quote(w)).join('')}`} />}
      </div>
      <Outcome of={doing} />
    </Section>
  );
}

function Plan({ of: p, file }: { of: Imported; file: string }) {
  const bad = p.items.filter((i) => i.result === 'wrong' || i.notes?.length), good = p.items.filter((i) => i.result !== 'wrong' && !i.notes?.length);
  const shown = [...bad, ...good].slice(0, most);
  return (
    <>
      <p class="say" role="status">{p.dry_run ? <>{file && <b>{tidy(file)}</b>}{file && ' is '}{formats[p.format]}: <b>{count(p.added)}</b> would be watched, {count(p.known)} are already, {count(p.wrong)} cannot be.</> : 'Imported.'}</p>
      <div class="numbers" tabIndex={0} role="region" aria-label="Entries of the list">
        <table>
          <thead><tr><th scope="col">Where</th><th scope="col">Address</th><th scope="col">Result</th></tr></thead>
          <tbody>{shown.map((i, n) => (
            <tr key={n}>
              <td class={i.line ? 'num' : 'anywhere small'}>{i.line ?? tidy(i.path ?? '')}</td>
              <td class="anywhere"><bdi>{i.id ? <a href={sourcePath(i.id)}>{tidy(short(i.url ?? ''))}</a> : tidy(short(i.url ?? i.name ?? ''))}</bdi></td>
              <td>
                <Mark is={i.result === 'wrong' ? 'failing' : i.notes?.length ? 'level' : 'well'} silent />{' '}
                {i.result === 'wrong' ? <span class="wrong">{tidy(i.error ?? '')}</span> : i.result === 'known' ? 'watched already' : p.dry_run ? 'new' : 'added'}
                {i.name && i.result === 'added' && <> as <bdi>{tidy(i.name)}</bdi></>}{i.tags?.length ? <span class="dim"> {i.tags.map((t) => tidy(t)).join(', ')}</span> : null}
                {i.read?.length ? <div class="mono small">{tidy(i.read.map((r) => (typeof r === 'string' ? r : JSON.stringify(r))).join(' → '))}</div> : null}
                {i.notes?.map((t) => <div key={t} class="small">{tidy(t)}</div>)}
              </td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      {p.queries?.length ? <p>{plural(p.queries.length, 'condition')} {p.dry_run ? 'would become' : 'became'} {p.queries.length === 1 ? 'a query' : 'queries'}: of these pages only changes that match are reported.</p> : null}
      {p.sinks?.length ? (
        <>
          <p>{p.dry_run ? 'Sinks that would be added:' : 'Sinks that were added:'}</p>
          <ul>{p.sinks.map((s) => (
            <li key={s.name}><Mark is={s.error ? 'failing' : s.notes?.length ? 'level' : 'well'} silent /> <b>{tidy(s.name)}</b>{s.error && <> <span class="wrong">{tidy(s.error)}</span></>}
              {s.notes?.map((t) => <div key={t} class="small">{tidy(t)}</div>)}</li>
          ))}</ul>
        </>
      ) : null}
      {p.items.length > most && <p class="small dim">{count(p.items.length - most)} more are not shown.</p>}
    </>
  );
}
