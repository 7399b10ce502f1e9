// Package docs holds the documentation, which the program serves as a site.
package docs

import "embed"

//go:embed README.md architecture.md tutorial how-to reference explanation/*.md explanation/*.svg explanation/*.csv explanation/papers-full.txt site.css site.js site.html
var pages embed.FS
