// Package search parses searches, and finds where a text matches them.
//
// A [Query] is what people type into a search box: words that must all be there,
// "phrases in quotes", beginnings of words (secur*), OR, NOT or a minus sign, and
// parentheses. Case, accents and punctuation do not count. No text can make it fail in
// a way that names anything but what the person typed.
//
// What is searched is divided into passages, such as a line or a sentence. A phrase is
// found within one passage, but the words of a query may be spread over all of them.
package search
