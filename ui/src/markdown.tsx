// A report of our own as it is read: just the Markdown that our documents use.
import type { ComponentChildren, VNode } from 'preact';
import { safe, tidy } from './format';
import { Out } from './parts';

/** inline reads code, emphasis and links within a line. What leads to another document is only named. */
function inline(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|!?\[([^\]]*)\]\(([^)]*)\)/g)) {
    out.push(tidy(text.slice(at, m.index)));
    at = m.index + m[0].length;
    if (m[1] !== undefined) out.push(<code>{tidy(m[1])}</code>);
    else if (m[2] !== undefined) out.push(<b>{inline(m[2])}</b>);
    else if (m[3] !== undefined) out.push(<em>{inline(m[3])}</em>);
    else if (m[0].startsWith('!')) continue; // a picture is not part of the report here
    else out.push(safe(m[5]) ? <Out url={m[5]}>{tidy(m[4])}</Out> : <>{inline(m[4])}</>);
  }
  out.push(tidy(text.slice(at)));
  return out;
}

const cells = (line: string) => line.trim().replace(/^\||\|$/g, '').split('|').map((c) => c.trim());

/** block reads the lines from one on, and returns what they are and how many there are. */
function block(lines: string[], from: number, about: string): [VNode | null, number] {
  const run = (is: (line: string) => boolean) => {
    let to = from;
    while (to < lines.length && is(lines[to])) to++;
    return lines.slice(from, to);
  };
  const line = lines[from];
  const heading = /^(#{1,4}) (.*)$/.exec(line);
  if (line.trim() === '') return [null, 1];
  if (heading) {
    const words = inline(heading[2]);
    if (heading[1].length === 1) return [<h1 class="title">{words}</h1>, 1];
    return [heading[1].length === 2 ? <h2>{words}</h2> : <h3>{words}</h3>, 1];
  }
  if (line.startsWith('    ')) {
    const code = run((l) => l.startsWith('    ') || l === '');
    return [<pre tabIndex={0} role="region" aria-label={`Lines ${from + 1} and on: ${about}`}>{tidy(code.map((l) => l.slice(4)).join('\n').trimEnd())}</pre>, code.length];
  }
  if (line.startsWith('|')) {
    const rows = run((l) => l.startsWith('|'));
    return [(
      <div class="numbers tall" tabIndex={0} role="region" aria-label={`Table in line ${from + 1}: ${about}`}>
        <table>
          <thead><tr>{cells(rows[0]).map((c, i) => <th key={i} scope="col">{c ? inline(c) : <span class="hidden-text">–</span>}</th>)}</tr></thead>
          <tbody>{rows.slice(2).map((r, i) => <tr key={i}>{cells(r).map((c, j) => <td key={j}>{inline(c)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    ), rows.length];
  }
  if (/^[-*] /.test(line)) {
    const all = run((l) => /^([-*] | {2}\S)/.test(l));
    const items: string[] = [];
    for (const l of all) {
      if (/^[-*] /.test(l)) items.push(l.slice(2));
      else items[items.length - 1] += ' ' + l.trim();
    }
    return [<ul>{items.map((t, i) => <li key={i}>{inline(t)}</li>)}</ul>, all.length];
  }
  const said = run((l) => l.trim() !== '' && !/^(#{1,4} |\||[-*] | {4})/.test(l));
  return said.length === 0 ? [<p>{inline(line)}</p>, 1] : [<p>{inline(said.join(' '))}</p>, said.length];
}

export function Markdown({ text }: { text: string }) {
  const lines = text.split('\n'), out: VNode[] = [];
  let about = '';
  for (let at = 0; at < lines.length;) {
    about = /^#+ (.*)$/.exec(lines[at])?.[1] ?? about; // what the part is called that a table is in
    const [node, n] = block(lines, at, about);
    if (node) out.push(node);
    at += n;
  }
  return <div class="document">{out}</div>;
}
