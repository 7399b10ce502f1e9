// What the API answers with, as far as the page reads it.

/** A Cursor is a place in a log: a number, and in which life of the data it was given. */
export type Cursor = string;

export interface Estimate { mean: number; low: number; high: number }
export interface Suspect { class: string; reason: string; url?: string }

/** A Remedy is something that may help with a page in trouble. */
export interface Remedy { what: string; words: string; why: string; edit?: Record<string, unknown>; command?: string }

export interface FieldChange { name: string; from: unknown; to: unknown }
export interface Item { key: string; title?: string; link?: string; date?: string; text?: string }
export interface ItemChanges {
  added_count: number; updated_count: number; gone_count: number; back_count: number;
  added?: Item[]; updated?: { key: string; title?: string; fields: string[] }[]; gone?: Item[]; back?: Item[];
}

export interface Change {
  cursor: Cursor; source: string; seq: number; number: number; after: string; before: string; modified?: string;
  summary: string; suspect?: Suspect; fields?: FieldChange[]; items?: ItemChanges; page?: string;
  text?: { added_count: number; removed_count: number; added?: string[]; removed?: string[]; cut?: boolean };
  url?: string; name?: string; title?: string; tags?: string[];
}

export interface Captured {
  name?: string; sources: number; unseen?: number; early?: number; too_early?: string; wide?: string; saturated?: boolean;
  polls: number; captured: number; happened: number; missed: Estimate; share: Estimate;
  delay: string; freshness: number; age: string; waiting: number;
}

export interface Sink {
  name: string; kind?: string; state: string; place: Cursor; open: number; dead: number;
  failing_since?: string; held_since?: string; error?: string; hint?: string;
}

export interface Status {
  version: string; started_at: string; ready: boolean; trouble?: string; running: boolean; budget: string;
  sources: number; under_way: number; polls: number; captured: number; failed: number; last_change: Cursor;
  store_bytes?: number; disk?: { free_bytes: number; size_bytes: number; days_left?: number };
  levels?: { set: number; unmet: number }; loading?: { done: number; of: number };
}

export interface Attention { kind: string; text: string; command?: string; source?: string }

export interface Overview {
  at: string; status: Status;
  sources: { all: number; failing: number; paused: number; unseen: number; suspect: number; noisy: number };
  spending?: { budget: string; used: number; most: number };
  captured?: Captured; attention: Attention[]; changes: Change[];
}

export interface Standing {
  last_attempt?: string; last_seen?: string; not_before?: string; polls: number; failures: number;
  last_error?: { class: string; message: string }; version: number; title?: string; moved_to?: string;
  suspect?: Suspect; held?: { version: number; since: string; next?: string }; changes: number; changed_at?: string; noisy?: boolean; landed_on?: string; remedies?: Remedy[];
  noise?: { differ: number; polls: number; places: { pattern: string; noise: boolean; step?: unknown }[] };
}

export interface Source {
  id: string; url: string; name?: string; tags: string[]; select: { css?: string; jsonpath?: string; kind?: string };
  read?: unknown[]; noise: string; extract?: Record<string, unknown>; items?: Record<string, unknown>; render?: unknown;
  weight: number; life: string; urgency: string; cost: number; paused: boolean; min_gap?: string; max_gap?: string;
  level?: string; suspect: string; robots: string; strategy?: string; active?: string; site?: unknown; of?: string; index?: boolean;
  keep: Record<string, unknown>; origin: string; created_at: string; host: string; standing: Standing; next_poll?: string; rate_per_day?: Rate; captured?: Captured; week?: number[]; request?: Record<string, unknown>; expect?: Record<string, unknown>;
  removed?: boolean;
}

export interface SourcePage { items: Source[]; next: string | null; total?: number }

export interface Outcome {
  cursor: Cursor; source: string; cause: string; since?: string; began: string; ended: string; result: string; version?: number;
  quiet?: string; status?: number; requests: number; bytes: number; suspect?: Suspect; failure?: string; error?: string;
}

export interface Version {
  source: string; number: number; hash: string; seen_at: string; text_bytes: number; raw_bytes: number;
  screenshot_bytes?: number; media_type?: string; title?: string; url?: string; fields?: Record<string, unknown>;
  suspect?: Suspect; quiet?: string;
}

export interface Line { op: ' ' | '-' | '+'; old?: number; new?: number; text: string; mark?: { from: number; to: number }; moved?: number }
export interface Hunk { old_start: number; old_lines: number; new_start: number; new_lines: number; lines: Line[] }
export interface Diff {
  source: string; from: Version; to: Version; summary: string; hunks: Hunk[]; added: number; removed: number; moved?: number;
  fields?: FieldChange[]; items?: ItemChanges; coarse?: boolean; picture?: { share: number; region_count: number };
}

/** A Rate is how often a source changes a day, and what is known of that. */
export interface Rate { known: 'unknown' | 'at_least' | 'at_most' | 'estimated'; mean?: number; low?: number; high?: number; words: string }

export interface Why {
  id: string; at: string; sentence: string; last_seen?: string; next?: string; cause?: string; trouble?: string;
  hold: { kind: string; reason: string; until?: string };
  chances?: { times: number; used: boolean };
  outlook?: {
    rate_per_day: Rate; rate_now_per_day?: Estimate; expected: number; chance: number; worth?: number; price?: number; due?: string; captured: Captured;
  };
}

export interface BudgetPoint {
  polls_per_day: number; spent_per_day: number; changes_per_day: number; share: Estimate; delay: string; freshness: number; age: string;
}
export interface Budget {
  budget: string; sources: number; now: BudgetPoint; too_early?: string; wide?: string; curve: BudgetPoint[]; at?: BudgetPoint; one_more_a_minute: number;
}

export interface Query {
  id: string; name?: string; scope?: { sources?: string[]; tags?: string[]; sites?: string[]; all?: boolean };
  when?: string; trigger?: string; words?: string; value?: string; window?: unknown; digest?: unknown; quiet?: unknown; rate?: string; repeat?: string; paused?: boolean;
  origin: string; created_at: string; matches: number; unacknowledged?: number; catching_up?: boolean;
  waiting?: { count: number; for: string; until?: string }; warnings?: string[];
}
export interface Match {
  cursor: Cursor; id: string; query: string; number: number; cause: string; at: string; known_at: string;
  source?: string; group?: string; value?: unknown; change?: Change;
}
export interface Finding { items: Match[]; found: number; scanned: number; missing?: number; warnings?: string[]; fields?: Record<string, string> }

export interface SinkInfo {
  name: string; origin: string; revision?: number; kind?: string; url?: string; tags?: string[]; sources?: string[];
  queries?: string[]; template?: string; settings?: Record<string, string>; headers?: Record<string, string>; paused?: boolean; standing: Sink;
}

export interface LabScore { recall: number; worth: number; captured: number; freshness: number; age: string; delay: string; polls: number; found: number }
export interface LabBudget { budget: string; polls_per_day: number; limit: number; limit_exact?: boolean; trials: (LabScore & { policy: string; of_limit: number })[] }
export interface LabResult {
  from: string; to: string; instant: string; sources: number; polls: number; changes: number; added: number; dated: number; gap: string; window: string; window_p90: string;
  cut?: boolean; weighed?: boolean; recorded: LabScore; spent: string; budgets: LabBudget[];
}
export interface LabRequest { policies: string[]; budgets?: string[]; sources?: string[]; tag?: string; since?: string; until?: string; seed?: number; seen_only?: boolean }
export interface LabRun {
  id: string; state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'; request: LabRequest; asked_at: string; doing?: string; progress: number;
  ahead?: number; error?: string; hint?: string; result?: LabResult;
}
export interface Lab {
  policies: { name: string; about: string; experimental?: boolean }[];
  limits: { policies: number; budgets: number; kept: number };
}
