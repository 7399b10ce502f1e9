// Package docs holds the pages of documentation that the program itself shows.
package docs

import _ "embed" // for the pages

// Papers tells of the papers behind Freshet and of what became of their claims, in
// Markdown.
//
//go:embed explanation/papers.md
var Papers string

// Results compares the policies on recorded histories, in Markdown.
//
//go:embed explanation/results.md
var Results string
