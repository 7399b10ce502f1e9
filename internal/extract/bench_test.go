package extract_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"znkr.io/diff"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// samplePage returns a page of about 20 KB of the make that sites have today:
// a head with scripts and styles, menus, articles, a table and a form.
func samplePage() []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>River levels &amp; flow</title>
<link rel="stylesheet" href="/assets/site.3f9c.css" integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K" crossorigin="anonymous">
<script nonce="r4nd0m">window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}if(1<2){gtag('js',new Date())}</script>
<style>.card{display:flex;margin:0 auto}.card>a{color:#123}</style></head><body class="page page--wide" data-page-id="77">
<nav aria-label="Main"><ul class="menu">`)
	for i := range 12 {
		fmt.Fprintf(&b, `<li class="menu__item menu__item--level-1"><a class="menu__link" href="/section/%d?ref=nav" data-track="nav-%d">Section %d</a></li>`, i, i, i)
	}
	b.WriteString("</ul></nav>\n<main id=\"main\">\n")
	for i := range 22 {
		fmt.Fprintf(&b, `
		<article class="card card--story" id="story-%d" data-story="%d" style="order:%d">
			<h2 class="card__title"><a href="/story/%d">Gauge %d rose by <em>%d cm</em> overnight</a></h2>
			<img src="/img/%d.jpg" alt="Gauge %d" width="320" height="180" loading="lazy">
			<p>After heavy rain in the hills the river stood at %d&nbsp;cm in the morning, the highest level since March. The
			   agency expects it to fall again by the end of the week &mdash; unless the weather turns.</p>
			<!-- teaser %d -->
			<p class="meta"><time datetime="2026-03-0%dT06:00:00Z">%d March</time> &middot; <span>Hydrology</span></p>
		</article>`, i, i, i, i, i, i*3, i, i, 200+i, i, i%9+1, i%9+1)
	}
	b.WriteString("</main><table><thead><tr><th>Station<th>Level<th>Flow</tr></thead><tbody>\n")
	for i := range 20 {
		fmt.Fprintf(&b, "<tr class=\"row\"><td>Station %d</td><td class=\"num\">%d cm</td><td class=\"num\">%d.%d m³/s</td></tr>\n", i, 100+i*7, i*11, i%10)
	}
	b.WriteString(`</tbody></table><form action="/subscribe" method="post"><input type="hidden" name="csrf" value="8f2e"><label>E-mail <input name="mail"></label><button>Subscribe</button></form>
<footer><p>&copy; 2026 The agency</p><svg viewBox="0 0 10 10"><path d="M0 0h10v10z"/></svg></footer></body></html>`)
	return []byte(b.String())
}

// BenchmarkPage sets reading a page beside what cannot be avoided (naming it by
// SHA-256) and beside a bare pass of the tokenizer of x/net.
func BenchmarkPage(b *testing.B) {
	body := samplePage()
	resp := freshet.Response{MediaType: "text/html; charset=utf-8", Body: body}
	b.Run("extract", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := extract.Extract(reading.Recipe{}, resp); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("selector", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := extract.Extract(reading.Recipe{CSS: "main article h2"}, resp); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tokenizer", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			for z := html.NewTokenizer(bytes.NewReader(body)); z.Next() != html.ErrorToken; {
			}
		}
	})
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			sha256.Sum256(body)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	old, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "text/html", Body: samplePage()})
	if err != nil {
		b.Fatal(err)
	}
	changed := bytes.Replace(old.Text, []byte("Gauge 7 rose"), []byte("Gauge 7 fell"), 1)
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			extract.Diff(old.Text, changed)
		}
	})
	b.Run("page, library alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			diff.Hunks(strings.SplitAfter(string(old.Text), "\n"), strings.SplitAfter(string(changed), "\n"))
		}
	})
	b.Run("page, words", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			extract.Words(string(old.Text), string(changed))
		}
	})
	b.Run("page, HTML", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			extract.Diff(old.Text, changed).HTML("a", "b")
		}
	})
	// Two texts of the greatest size that have nothing and everything in common.
	for name, line := range map[string]func(i, side int) string{
		"rewritten": func(i, side int) string { return fmt.Sprintf("line %d of text %d\n", i, side) },
		"repeated":  func(i, side int) string { return fmt.Sprintf("%d\n", i*i*(side+1)%17) },
	} {
		var texts [2]bytes.Buffer
		for side := range texts {
			for i := 0; texts[side].Len() < 1<<20 && i < 99_000; i++ {
				texts[side].WriteString(line(i, side))
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				extract.Diff(texts[0].Bytes(), texts[1].Bytes())
			}
		})
	}
}
