// Package sites says which pages a site has, as its links show them.
//
//   - [Normalise] gives each page one URL, so that two spellings of it are one page.
//   - [Links] reads what a page links to, and what it says to crawlers.
//   - [Scope] decides which URLs belong to the site that a user named, by [Pattern]s.
//   - [Traps] notices where a site is endless: calendars, filters, sessions, paths that
//     repeat themselves. It cuts them off and reports what was cut.
//   - [Relink] and [FilePath] turn pages into a mirror on disk.
//
// The package reads no clock, draws no chance, and reaches neither a store nor the
// network. The same calls in the same order give the same answers.
package sites
