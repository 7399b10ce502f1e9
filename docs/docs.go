// Package docs holds the documentation, which the program serves as a site.
package docs

import "embed"

// Papers tells of the papers behind Freshet and of what became of their claims, in
// Markdown.
//
//go:embed explanation/papers.md
var Papers string

// Results compares the policies on recorded histories, in Markdown.
//
//go:embed explanation/results.md
var Results string

//go:embed README.md architecture.md tutorial how-to reference explanation/*.md explanation/*.svg explanation/papers* site.css site.js site.html
var pages embed.FS
