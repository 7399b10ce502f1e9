// Package browser shows a page in Chromium and reads what became of it.
//
// Pages that build themselves by script are empty to a client that only fetches them. A
// [Renderer] takes the document that was fetched, shows it in a browser, waits until
// the page is there, does on it what the user asked for, and returns its elements as
// HTML, with a picture if one is wanted.
//
// A page is hostile, and so is a browser that has been broken into. Therefore each
// page has a browser process of its own with an empty profile, which is killed and
// deleted afterwards. The browser has no network of its own: where the kernel
// allows, it runs in a network namespace with nothing in it but our proxy. All that
// the page asks for comes to the proxy as plain requests, since the proxy ends TLS
// too. Each one needs leave, is counted, and is sent by the function that the Config
// gives, which is package fetch with its rules about addresses. Time, memory,
// requests and bytes are bounded, and what is over a bound fails whole.
//
// The browser is spoken to over a pipe. What it says is bounded too, and nothing of
// the page is mirrored in this process.
package browser
