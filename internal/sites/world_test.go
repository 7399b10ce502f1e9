package sites_test

import (
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"freshet/internal/sites"
)

// A world is a synthetic site: what a page says, and where it links to. A page that is
// not there says nothing.
type world func(path string, query map[string]string) (text string, links []string)

const worldRoot = "https://site.example/"

// visit crawls a world until nothing waits or most pages were fetched.
func visit(t *testing.T, w world, most int) (fetched map[string]bool, traps *sites.Traps, ended bool) {
	t.Helper()
	scope, err := sites.NewScope(sites.Bounds{Root: worldRoot})
	if err != nil {
		t.Fatal(err)
	}
	traps, fetched = &sites.Traps{}, map[string]bool{}
	f := sites.NewFrontier(scope, traps)
	f.Add(sites.Found{URL: worldRoot})
	normalise := sites.FromBase(worldRoot) // all links begin with a slash
	for len(fetched) < most {
		step, ok := f.Next()
		if !ok {
			return fetched, traps, true
		}
		if step.Dropped != "" {
			continue
		}
		fetched[strings.TrimPrefix(step.URL, strings.TrimSuffix(worldRoot, "/"))] = true
		p, q := takeApart(step.URL)
		text, links := w(p, q)
		if text == "" {
			continue
		}
		traps.Tell(step.URL, sites.Sum([]byte(text)))
		for _, href := range links {
			if to, err := normalise(href); err == nil {
				f.Add(sites.Found{URL: to, From: step.URL, Depth: step.Depth + 1})
			}
		}
	}
	return fetched, traps, false
}

func takeApart(url string) (string, map[string]string) {
	p, query, _ := strings.Cut(strings.TrimPrefix(url, strings.TrimSuffix(worldRoot, "/")), "?")
	q := map[string]string{}
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if name != "" {
			q[name] = value
		}
	}
	return p, q
}

var vocabulary = strings.Fields("river stone paper window garden letter morning station market bridge silver winter copper harbour engine village forest candle mirror thunder")

// words returns a text that is the same for the same seed, and another for another one.
func words(seed string, n int) string {
	h := fnv.New64a()
	h.Write([]byte(seed))
	x := h.Sum64()
	var out strings.Builder
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
		out.WriteString(vocabulary[(x>>33)%uint64(len(vocabulary))])
		out.WriteByte(' ')
	}
	return out.String()
}

func slug(seed string) string {
	return strings.ReplaceAll(strings.TrimSpace(words(seed, 3)), " ", "-") + "-" + nth(seed)
}

// nth returns a word without digits that is another for each seed.
func nth(seed string) string {
	h := fnv.New32a()
	h.Write([]byte(seed))
	n := h.Sum32()
	var out []byte
	for range 6 {
		out = append(out, byte('a'+n%26))
		n /= 26
	}
	return string(out)
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// shop has products on listing pages, twenty on each.
func shop(products, categories int, product func(n int) string, text func(n int) string) world {
	each := products / categories
	named := map[string]int{}
	for c := range categories {
		named["/c/"+slug(fmt.Sprint("cat", c))] = c
	}
	return func(p string, q map[string]string) (string, []string) {
		if p == "/" && len(q) == 0 {
			var links []string
			for p := range named {
				links = append(links, p)
			}
			return "home", sortedCopy(links)
		}
		if c, ok := named[p]; ok {
			page := max(1, atoi(q["page"]))
			var links []string
			body := fmt.Sprintf("category %s page %d ", nth(fmt.Sprint("cat", c)), page)
			for i := (page - 1) * 20; i < min(page*20, each); i++ {
				links = append(links, product(c*each+i))
				body += text(c*each+i) + " "
			}
			if page*20 < each {
				links = append(links, fmt.Sprintf("%s?page=%d", p, page+1), fmt.Sprintf("%s?page=%d", p, (each+19)/20))
			}
			return body, links
		}
		url := p
		if q["id"] != "" {
			url += "?id=" + q["id"]
		}
		for _, digits := range []string{q["id"], path.Base(p)} {
			if n := atoi(strings.TrimSuffix(digits, ".html")); n < products && product(n) == url {
				return text(n), []string{"/", product((n + 1) % products), product((n * 7) % products)}
			}
		}
		return "", nil
	}
}

// listings returns the pages of a shop that list products.
func listings(products, categories int) (pages []string) {
	for c := range categories {
		category := "/c/" + slug(fmt.Sprint("cat", c))
		pages = append(pages, category)
		for page := 2; page <= (products/categories+19)/20; page++ {
			pages = append(pages, fmt.Sprintf("%s?page=%d", category, page))
		}
	}
	return pages
}

// blog has posts over twenty years, three years of silence among them. Months are
// reached by the arrows of the neighbouring month alone.
func blog() (w world, pages []string) {
	type month struct{ y, m int }
	var months []month
	for y := 2006; y < 2026; y++ {
		for m := 1; m <= 12; m++ {
			if y < 2013 || y > 2015 {
				months = append(months, month{y, m})
			}
		}
	}
	at := map[string]int{}
	posts := map[string]string{}
	for i, m := range months {
		folder := fmt.Sprintf("/%d/%02d/", m.y, m.m)
		at[folder] = i
		pages = append(pages, folder)
		for d := 1; d <= 28; d += 5 {
			post := fmt.Sprintf("%s%02d/%s/", folder, d, slug(fmt.Sprint(folder, d)))
			posts[post] = words(post, 60)
			pages = append(pages, post, fmt.Sprintf("%s%02d/", folder, d))
		}
	}
	folderOf := func(i int) string { return fmt.Sprintf("/%d/%02d/", months[i].y, months[i].m) }
	return func(p string, _ map[string]string) (string, []string) {
		if p == "/" {
			return "latest", []string{folderOf(len(months) - 1)}
		}
		if text, ok := posts[p]; ok {
			return text, []string{"/", path.Dir(path.Dir(p)) + "/"}
		}
		i, ok := at[p]
		if !ok {
			i, ok = at[path.Dir(path.Dir(p))+"/"]
			if !ok {
				return "", nil
			}
		}
		var links []string
		for post := range posts {
			if strings.HasPrefix(post, p) {
				links = append(links, post)
			}
		}
		links = sortedCopy(links)
		body := "archive " + p + strings.Join(links, " ")
		if i > 0 {
			links = append(links, folderOf(i-1))
		}
		if i < len(months)-1 {
			links = append(links, folderOf(i+1))
		}
		return body, links
	}, pages
}

// forum has topics in forums, with pages of both, and links that leave the forum out.
func forum(forums, topics int) (w world, pages []string) {
	length := func(topic int) int {
		if topic%50 == 0 {
			return 60
		}
		return topic % 5
	}
	for f := range forums {
		pages = append(pages, fmt.Sprintf("/viewforum.php?f=%d", f))
		for i := range topics {
			n := f*topics + i
			pages = append(pages, fmt.Sprintf("/viewtopic.php?f=%d&t=%d", f, n))
			for k := 1; k <= length(n); k++ {
				pages = append(pages, fmt.Sprintf("/viewtopic.php?f=%d&start=%d&t=%d", f, k*15, n))
			}
		}
	}
	return func(p string, q map[string]string) (string, []string) {
		var links []string
		switch p {
		case "/":
			for f := range forums {
				links = append(links, fmt.Sprintf("/viewforum.php?f=%d", f))
			}
			return "forums", links
		case "/viewforum.php":
			start := atoi(q["start"])
			for i := start; i < min(start+40, topics); i++ {
				n := atoi(q["f"])*topics + i
				links = append(links, fmt.Sprintf("/viewtopic.php?f=%s&t=%d", q["f"], n), fmt.Sprintf("/viewtopic.php?t=%d&view=unread", n))
			}
			if start+40 < topics {
				links = append(links, fmt.Sprintf("/viewforum.php?f=%s&start=%d", q["f"], start+40))
			}
			return fmt.Sprint("forum ", nth(q["f"]), strings.Join(links, " ")), links
		case "/viewtopic.php":
			n, start := atoi(q["t"]), atoi(q["start"])
			if q["f"] == "" {
				return words(fmt.Sprint("topic", n, 0), 50), nil
			}
			for k := 1; k <= length(n); k++ {
				links = append(links, fmt.Sprintf("/viewtopic.php?f=%s&t=%d&start=%d", q["f"], n, k*15))
			}
			return words(fmt.Sprint("topic", n, start), 50), links
		}
		return "", nil
	}, pages
}

// files is a tree of folders as programs are kept in, in which names return.
func files() (w world, pages []string) {
	below := map[string][]string{}
	for m := range 400 {
		name := nth(fmt.Sprint("module", m))
		for _, part := range []string{"impl", "api", "web", "store"} {
			for _, file := range []string{"Main.java", "package-info.java", nth(name+part) + ".java"} {
				parent := "/tree/"
				for _, folder := range []string{name, "src", "main", "java", "org", "acme", name, part} {
					child := parent + folder + "/"
					if !slices.Contains(below[parent], child) {
						below[parent] = append(below[parent], child)
						pages = append(pages, child)
					}
					parent = child
				}
				below[parent] = append(below[parent], parent+file)
				pages = append(pages, parent+file)
			}
		}
	}
	return func(p string, _ map[string]string) (string, []string) {
		if p == "/" {
			return "files", []string{"/tree/"}
		}
		return words(p, 30), below[p]
	}, pages
}

// eventsByDay has a page for each day of four years, with events under numbers. Days are
// reached by the arrows of the day before and after.
func eventsByDay() (w world, pages []string) {
	day := func(n int) string { return fmt.Sprintf("/events/%d-%02d-%02d", 2020+n/336, n%336/28+1, n%28+1) }
	at := map[string]int{}
	for n := range 4 * 336 {
		at[day(n)] = n
		pages = append(pages, day(n), fmt.Sprintf("/event/%d", 7000+n))
	}
	return func(p string, _ map[string]string) (string, []string) {
		if p == "/" {
			return "today", []string{day(4*336 - 1)}
		}
		if n, ok := at[p]; ok {
			links := []string{fmt.Sprintf("/event/%d", 7000+n)}
			if n > 0 {
				links = append(links, day(n-1))
			}
			if n < len(at)-1 {
				links = append(links, day(n+1))
			}
			return "Events on " + p, links
		}
		return words(p, 40), []string{"/"}
	}, pages
}

// languages has each page in three languages, by a parameter.
func languages(p string, q map[string]string) (string, []string) {
	if p == "/" {
		return "start", []string{"/docs/" + slug("0")}
	}
	for n := range 500 {
		if p != "/docs/"+slug(fmt.Sprint(n)) {
			continue
		}
		links := []string{p + "?lang=de", p + "?lang=en", p + "?lang=fr"}
		for k := range 5 {
			if link := "/docs/" + slug(fmt.Sprint((n*3+k)%500)); q["lang"] != "" {
				links = append(links, link+"?lang="+q["lang"])
			} else {
				links = append(links, link)
			}
		}
		return words(p+q["lang"], 40), links
	}
	return "", nil
}

// tables is a list whose pages have nothing but numbers.
func tables(p string, q map[string]string) (string, []string) {
	if p == "/" {
		return "results", []string{"/draws?page=1"}
	}
	n := atoi(q["page"])
	if n > 400 {
		return "", nil
	}
	text := ""
	for i := range 50 {
		text += fmt.Sprintf("%d %d %d %d %d\n", n*50+i, n*i%49, n*(i+3)%49, n*(i+7)%49, n*(i+11)%49)
	}
	return text, []string{fmt.Sprintf("/draws?page=%d", n+1)}
}

// docs is documentation in versions and languages, in which names return.
func docs() (w world, pages []string) {
	all := map[string]bool{}
	for _, lang := range []string{"en", "de", "fr"} {
		for _, version := range []string{"v1", "v2", "latest"} {
			for c := range 15 {
				for s := range 15 {
					all[fmt.Sprintf("/%s/%s/%s/api/%s/%s.html", lang, version, nth(fmt.Sprint(c)), nth(fmt.Sprint(c)), nth(fmt.Sprint("s", s)))] = true
				}
				all[fmt.Sprintf("/%s/%s/%s/api/index.html", lang, version, nth(fmt.Sprint(c)))] = true
			}
		}
	}
	for p := range all {
		pages = append(pages, p)
	}
	pages = sortedCopy(pages)
	return func(p string, _ map[string]string) (string, []string) {
		if p == "/" {
			return "contents", pages[:len(pages)/2]
		}
		if !all[p] {
			return "", nil
		}
		links := []string{strings.Replace(p, "/en/", "/de/", 1), strings.Replace(p, "/de/", "/fr/", 1), strings.Replace(p, "/latest/", "/v1/", 1), strings.Replace(p, "/v1/", "/v2/", 1)}
		return words(p, 80), links
	}, pages
}
