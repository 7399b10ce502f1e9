// Numbers, lengths of time and dates as people read them.
import type { Captured, Rate } from './types';

const counts = new Intl.NumberFormat('en');

export const count = (n: number) => counts.format(Math.round(n));

/** percent writes a share: 84%, 99.6%, under 1%. */
export function percent(share: number): string {
  const p = share * 100;
  if (p > 99 && p < 100) return (Math.floor(p * 10) / 10).toFixed(1) + '%';
  if (p > 0 && p < 1) return '<1%';
  return Math.round(p) + '%';
}

const units: [string, number][] = [['w', 604800e3], ['d', 86400e3], ['h', 3600e3], ['m', 60e3], ['s', 1e3], ['ms', 1], ['us', 1e-3], ['µs', 1e-3], ['ns', 1e-6]];

/** millis reads a length of time as the API writes it, such as 1h30m. */
export function millis(text: string | undefined): number {
  let sum = 0;
  for (const [, n, unit] of (text ?? '').matchAll(/([\d.]+)(ms|us|µs|ns|w|d|h|m|s)/g)) {
    sum += Number(n) * units.find(([u]) => u === unit)![1];
  }
  return sum;
}

/** span writes a length of time with at most two units. */
export function span(ms: number): string {
  const s = Math.abs(ms) / 1000;
  if (s < 1) return Math.round(s * 1000) + ' ms';
  if (s < 60) return (s < 10 ? Math.round(s * 10) / 10 : Math.round(s)) + ' s';
  if (s < 3600) {
    const m = Math.floor(s / 60), rest = Math.round(s % 60);
    return m < 10 && rest > 0 && rest < 60 ? `${m} min ${rest} s` : Math.round(s / 60) + ' min';
  }
  if (s < 86400) {
    const h = Math.floor(s / 3600), m = Math.round((s % 3600) / 60);
    return h < 10 && m > 0 && m < 60 ? `${h} h ${m} min` : Math.round(s / 3600) + ' h';
  }
  const d = s / 86400;
  return d < 10 ? Math.round(d * 10) / 10 + ' d' : Math.round(d) + ' d';
}

/** brief writes a length of time with one unit. */
export function brief(ms: number): string {
  const s = Math.abs(ms) / 1000;
  if (s < 60) return Math.round(s) + ' s';
  if (s < 5400) return Math.round(s / 60) + ' min';
  return s < 129600 ? Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' d';
}

/** ago writes how long ago a moment is, or how soon it comes. */
export function ago(time: string | undefined, now = Date.now()): string {
  if (!time) return '–';
  const ms = now - Date.parse(time);
  if (Math.abs(ms) < 1000) return 'now';
  return ms >= 0 ? brief(ms) + ' ago' : 'in ' + brief(-ms);
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const clockShort = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
const year = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' });

export const hour = (t: string | number | Date) => clockShort.format(new Date(t));
export const second = (t: string | number | Date) => clock.format(new Date(t));
export const dayOf = (t: string | number | Date) => day.format(new Date(t));
export const exact = (t: string | number | Date) => full.format(new Date(t));

/** moment writes a time: the clock for today, with the day otherwise. */
export function moment(t: string | number | Date, now = Date.now()): string {
  const at = new Date(t);
  if (at.toDateString() === new Date(now).toDateString()) return second(at);
  if (Math.abs(now - at.getTime()) < 300 * 86400e3) return `${day.format(at)}, ${hour(at)}`;
  return year.format(at);
}

/** rate writes changes a day in the unit that reads best. */
export function rate(perDay: number): string {
  const two = (n: number) => (n >= 10 ? Math.round(n).toString() : (Math.round(n * 10) / 10).toString());
  if (perDay >= 48) return two(perDay / 24) + '/h';
  if (perDay >= 0.7) return two(perDay) + '/d';
  if (perDay >= 0.05) return two(perDay * 7) + '/wk';
  return perDay > 0 ? two(perDay * 30) + '/mo' : '–';
}

/** bytes writes a size. */
export function bytes(n: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (n >= 1000 && i < names.length - 1) {
    n /= 1000;
    i++;
  }
  return (n < 10 && i > 0 ? n.toFixed(1) : Math.round(n)) + ' ' + names[i];
}

export const plural = (n: number, one: string, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;

/** tidy shows what a text hides: control characters, and marks that turn its direction. */
export function tidy(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
  });
}

/** short returns an address without its scheme. */
export function short(url: string): string {
  return url.replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, '');
}

/** safe returns an address that a link may lead to, or nothing. */
export function safe(url: string | undefined): string | undefined {
  if (!url) return undefined;
  try {
    const u = new URL(url);
    return u.protocol === 'http:' || u.protocol === 'https:' ? u.href : undefined;
  } catch {
    return undefined;
  }
}

/** value writes what a field holds. */
export function value(v: unknown): string {
  if (v === null || v === undefined) return 'none';
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

/** isKnown says whether there is an estimate of a rate, or at least a lower bound. */
export const isKnown = (r: Rate) => r.known === 'estimated' || r.known === 'at_least';

/** fewChanges is how many changes say little of the share that is captured if none seems to be missed. */
const fewChanges = 30;

/** tooEarly says why the share that is captured is not known yet; empty if it is. */
export const tooEarly = (c: Captured): string => c.too_early || (c.share.low > 0.99 && c.captured < fewChanges ? `only ${plural(Math.round(c.captured), 'change')} captured so far` : '');

/** lives and urgencies are how long a change can be seen, and what it is worth late. */
export const lives: [string, string][] = [['overwrite', 'until the next change'], ['append', 'forever, as in a log'], ['window:10m', 'for 10 minutes'], ['last:5', 'among the last 5']];
export const urgencies: [string, string][] = [['uniform', 'the same at any time'], ['half-life:1h', 'half after 1 hour'], ['window:10m', 'none after 10 minutes']];
