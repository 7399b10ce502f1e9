// Package wrongpage says whether what a poll saw is the page that is watched. Servers
// answer 200 with a captcha, a login, a consent form, an error, an empty page, half
// of the page or the page in another language. Such an answer is no change of the
// page, but a redesign can look much the same.
//
// [Judge] holds a page against its own past: what the page always said speaks not
// against it. [Patience] says how many looks have to agree before what is suspect is
// believed. Both are pure.
package wrongpage
