// Rows of field, operator and value, as CEL and back. What rows cannot say stays text.

export interface Row { field: string; op: string; value: string }

const quoted = (s: string) => JSON.stringify(s);
const number = (s: string) => String(Number(s.trim().replace(',', '.')) || 0);

function writeRow({ field: f, op, value: v }: Row): string {
  const place = f === 'text' || f === 'added' || f === 'removed' ? f : 'now.' + f;
  if (f === 'items') return op === 'titled' ? `items.added.exists(i, i.title.contains(${quoted(v)}))` : 'size(items.added) > 0';
  if (f === 'tag') return `${quoted(v)} in source.tags`;
  switch (op) {
    case 'has': return `${place}.contains(${quoted(v)})`;
    case 'lacks': return `!${place}.contains(${quoted(v)})`;
    case 'is': return `${place} == ${quoted(v)}`;
    case 'changes': case 'differs': return `${place} != before.${f}`;
    case 'grows': return `${place} > before.${f}`;
    case 'shrinks': return `${place} < before.${f}`;
    case 'falls': return `percent(before.${f}, now.${f}) <= -${number(v)}`;
    case 'rises': return `percent(before.${f}, now.${f}) >= ${number(v)}`;
  }
  return `${place} ${op} ${number(v)}`;
}

/** write returns the condition that rows mean, all of them or any. */
export const write = (rows: Row[], any: boolean) => rows.map(writeRow).join(any ? ' || ' : ' && ');

const text = String.raw`("(?:[^"\\]|\\.)*")`, name = String.raw`([A-Za-z_]\w*)`, num = String.raw`(-?\d+(?:\.\d+)?)`;

/** shapes are what a row can look like in CEL. */
const shapes: [RegExp, (m: string[]) => Row | undefined][] = [
  [RegExp(`^items\\.added\\.exists\\(i, i\\.title\\.contains\\(${text}\\)\\)$`), ([, v]) => ({ field: 'items', op: 'titled', value: unquoted(v) })],
  [/^size\(items\.added\) > 0$/, () => ({ field: 'items', op: 'any', value: '' })],
  [RegExp(`^${text} in source\\.tags$`), ([, v]) => ({ field: 'tag', op: 'has', value: unquoted(v) })],
  [RegExp(`^(!?)(text|added|removed)\\.contains\\(${text}\\)$`), ([, not, f, v]) => ({ field: f, op: not ? 'lacks' : 'has', value: unquoted(v) })],
  [RegExp(`^(!?)now\\.${name}\\.contains\\(${text}\\)$`), ([, not, f, v]) => ({ field: f, op: not ? 'lacks' : 'has', value: unquoted(v) })],
  [RegExp(`^now\\.${name} == ${text}$`), ([, f, v]) => ({ field: f, op: 'is', value: unquoted(v) })],
  [RegExp(`^now\\.${name} != before\\.${name}$`), ([, f, g]) => (f === g ? { field: f, op: 'changes', value: '' } : undefined)],
  [RegExp(`^now\\.${name} ([<>]) before\\.${name}$`), ([, f, op, g]) => (f === g ? { field: f, op: op === '>' ? 'grows' : 'shrinks', value: '' } : undefined)],
  [RegExp(`^percent\\(before\\.${name}, now\\.${name}\\) (<=|>=) ${num}$`), ([, f, g, op, k]) => (f === g ? { field: f, op: op === '<=' ? 'falls' : 'rises', value: k.replace('-', '') } : undefined)],
  [RegExp(`^now\\.${name} (<=|>=|<|>|==|!=) ${num}$`), ([, f, op, v]) => ({ field: f, op, value: v })],
];

function unquoted(s: string): string {
  try {
    return String(JSON.parse(s));
  } catch {
    return s.slice(1, -1);
  }
}

/** split divides a condition at one operator, outside of texts and brackets; undefined if the other one is there, too. */
function split(condition: string, op: string): string[] {
  const parts = [];
  let depth = 0, from = 0, inText = false;
  for (let i = 0; i < condition.length; i++) {
    const c = condition[i];
    if (inText) {
      if (c === '\\') i++;
      else if (c === '"') inText = false;
    } else if (c === '"') inText = true;
    else if (c === '(') depth++;
    else if (c === ')') depth--;
    else if (depth === 0 && condition.startsWith(op, i)) {
      parts.push(condition.slice(from, i));
      from = i + op.length;
      i += op.length - 1;
    }
  }
  return [...parts, condition.slice(from)].map((p) => p.trim());
}

/** read returns the rows that a condition can be written as; undefined if it says more. */
export function read(condition: string): { rows: Row[]; any: boolean } | undefined {
  const whole = condition.trim();
  if (whole === '') return { rows: [], any: false };
  const ors = split(whole, '||'), any = ors.length > 1;
  const rows: Row[] = [];
  for (const piece of any ? ors : split(whole, '&&')) {
    let row: Row | undefined;
    for (const [shape, make] of shapes) {
      const m = shape.exec(piece);
      if (m && (row = make(m))) break;
    }
    if (!row || writeRow(row) !== piece) return undefined; // a row that would not be written so loses something
    rows.push(row);
  }
  return { rows, any };
}
