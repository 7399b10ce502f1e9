package sites_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"freshet/internal/sites"
	"freshet/internal/test/tier"
)

func sortedCopy(list []string) []string { return slices.Sorted(slices.Values(list)) }

func count(n int, name func(int) string) (pages []string) {
	for i := range n {
		pages = append(pages, name(i))
	}
	return pages
}

// TestHonestSites crawls sites that are large and no traps. Every page has to be found.
func TestHonestSites(t *testing.T) {
	products := tier.Seeds(10_000, 20_000, 100_000)
	byPath := func(n int) string { return fmt.Sprintf("/p/%d", n) }
	byQuery := func(n int) string { return fmt.Sprintf("/product?id=%d", n) }
	description := func(n int) string { return words(fmt.Sprint("product", n), 20) }
	screw := func(n int) string { return fmt.Sprintf("Screw no. %d, price %d.%02d", n, n%90, n%100) }
	blogWorld, blogPages := blog()
	forumWorld, forumPages := forum(20, 400)
	docsWorld, docsPages := docs()
	filesWorld, filesPages := files()
	eventsWorld, eventsPages := eventsByDay()
	list := count(products, byPath)
	tests := []struct {
		name  string
		world world
		pages []string
	}{
		{"shop by path", shop(products, 50, byPath, description), slices.Concat(list, listings(products, 50))},
		{"shop by query", shop(products, 50, byQuery, description), slices.Concat(count(products, byQuery), listings(products, 50))},
		{"shop of screws", shop(products/5, 50, byPath, screw), slices.Concat(list[:products/5], listings(products/5, 50))},
		{"shop of screws by query", shop(products/5, 50, byQuery, screw), slices.Concat(count(products/5, byQuery), listings(products/5, 50))},
		{"one long index", func(p string, _ map[string]string) (string, []string) {
			if p == "/" {
				return "all", list[:10_000]
			}
			return words(p, 30), []string{"/"}
		}, list[:10_000]},
		{"blog", blogWorld, blogPages},
		{"forum", forumWorld, forumPages},
		{"docs", docsWorld, docsPages},
		{"files of many modules", filesWorld, filesPages},
		{"events by day", eventsWorld, eventsPages},
		{"languages by query", languages, count(1500, func(n int) string {
			return fmt.Sprintf("/docs/%s?lang=%s", slug(fmt.Sprint(n/3)), []string{"de", "en", "fr"}[n%3])
		})},
		{"tables of numbers", tables, count(400, func(n int) string { return fmt.Sprintf("/draws?page=%d", n+1) })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetched, traps, ended := visit(t, tt.world, 3*len(tt.pages)+1000)
			missed := 0
			for _, p := range tt.pages {
				if !fetched[p] {
					if missed++; missed <= 3 {
						t.Logf("missed %s", p)
					}
				}
			}
			t.Logf("%d of %d pages missed; %d fetched; %d bytes", missed, len(tt.pages), len(fetched), encoded(t, traps))
			if missed > 0 || !ended {
				t.Errorf("%d of %d pages were cut off, ended %v: %+v", missed, len(tt.pages), ended, traps.Report())
			}
		})
	}
}

func encoded(t *testing.T, traps *sites.Traps) int {
	t.Helper()
	data, err := traps.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// besides puts an endless part next to an honest shop of 300 products, all of which have
// to be found all the same.
func besides(endless world, links ...string) world {
	honest := shop(300, 5, func(n int) string { return fmt.Sprintf("/p/%d.html", n) }, func(n int) string { return words(fmt.Sprint("product", n), 20) })
	return func(p string, q map[string]string) (string, []string) {
		text, to := honest(p, q)
		if p == "/" && len(q) == 0 {
			return text, append(to, links...)
		}
		if text == "" || strings.HasPrefix(p, "/c/") && len(q) > 1 {
			return endless(p, q)
		}
		return text, to
	}
}

func TestEndlessSites(t *testing.T) {
	tests := []struct {
		name  string
		world world
		kind  sites.Kind
		most  int // pages fetched, beside the honest ones
	}{
		{"calendar in the path", besides(calendarByPath, "/calendar/2026/05/"), sites.Calendar, 1500},
		{"calendar in the query", besides(calendarByQuery, "/events?date=2026-05-17&view=day"), sites.Calendar, 2000},
		{"calendar of rooms", besides(calendarOfRooms, "/rooms"), sites.Calendar, 4000},
		{"recurring events", besides(recurring, "/agenda/2026-05/"), sites.Calendar, 2500},
		{"year and month", besides(yearAndMonth, "/cal.php?year=2026&month=5"), sites.Calendar, 500},
		{"paths that grow", besides(wrongLinks(false), "/x/about/"), sites.Path, 3000},
		{"paths that grow and say so", besides(wrongLinks(true), "/x/about/"), sites.Path, 3000},
		{"filters in the path", besides(pathFilters, "/list/red/"), sites.Path, 3000},
		{"slots of a calendar", besides(slots, "/booking/2026-05/"), sites.Calendar, 1500},
		{"filters", besides(filters, "/list/shoes", "/list/hats", "/list/bags"), sites.Filters, 3000},
		{"filters in 200 categories", besides(filters, count(200, func(n int) string { return "/list/" + slug(fmt.Sprint(n)) })...), sites.Filters, 4000},
		{"sessions in the query", sessions(false), sites.Session, 3000},
		{"sessions in the path", sessions(true), sites.Session, 3000},
		{"a list without end", besides(endlessList, "/news?page=1"), sites.List, 300},
		{"500 lists without end", besides(endlessList, count(500, func(n int) string { return fmt.Sprintf("/news/%s?page=1", slug(fmt.Sprint(n))) })...), sites.List, 4000},
		{"pages that all say the same", besides(everywhere, "/x/one"), sites.Duplicates, 500},
		{"a login for every page", besides(login, "/account/"), sites.Session, 1500},
		{"searches that lead to searches", besides(related, "/search?q=river"), sites.Search, 1500},
		{"where one came from", besides(nested, "/share?url=%2F"), sites.Path, 1500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fetched, traps, ended := visit(t, tt.world, 30_000)
			products := map[string]bool{} // whatever comes before and after
			for p := range fetched {
				if i := strings.Index(p, "/p/"); i >= 0 {
					p, _, _ = strings.Cut(p[i:], "?")
					products[p] = true
				}
			}
			missed := 300 - len(products)
			extra := len(fetched) - 320
			t.Logf("ended %v after %d pages beside the honest ones, of which %d are missed", ended, extra, missed)
			report := traps.Report()
			if !ended || extra > tt.most || missed > 0 {
				t.Errorf("too late; report %+v", report)
			}
			if !slices.ContainsFunc(report, func(trap sites.Trap) bool { return trap.Kind == tt.kind && trap.Cut > 0 && trap.Example != "" }) {
				t.Errorf("report %+v; want a %s", report, tt.kind)
			}
		})
	}
}

func calendarByPath(p string, _ map[string]string) (string, []string) {
	var y, m, d int
	n, _ := fmt.Sscanf(p, "/calendar/%d/%d/%d/", &y, &m, &d)
	if n < 2 || m < 1 || m > 12 || d > 28 {
		return "", nil
	}
	links := []string{fmt.Sprintf("/calendar/%d/%02d/", y+m/12, m%12+1), fmt.Sprintf("/calendar/%d/%02d/", y-(13-m)/12, (m+10)%12+1), fmt.Sprintf("/calendar/%d/%02d/", y+1, m)}
	if n == 2 {
		for d := 1; d <= 28; d++ {
			links = append(links, fmt.Sprintf("/calendar/%d/%02d/%02d/", y, m, d))
		}
	}
	return fmt.Sprintf("No events. %s %d %d", nth(fmt.Sprint(m)), y, d), links
}

func calendarByQuery(p string, q map[string]string) (string, []string) {
	var y, m, d int
	if n, _ := fmt.Sscanf(q["date"], "%d-%d-%d", &y, &m, &d); n != 3 || p != "/events" {
		return "", nil
	}
	next, before := (y*12+m-1)*28+d, (y*12+m-1)*28+d-2
	date := func(n int) string { return fmt.Sprintf("%04d-%02d-%02d", n/28/12, n/28%12+1, n%28+1) }
	var links []string
	for _, view := range []string{"day", "week", "month", "list"} {
		links = append(links, "/events?view="+view+"&date="+date(next), "/events?view="+view+"&date="+date(before), "/events?view="+view+"&date="+date(next+27))
	}
	return "Nothing on " + q["date"] + q["view"], links
}

func calendarOfRooms(p string, q map[string]string) (string, []string) {
	if p == "/rooms" && len(q) == 0 {
		return "rooms", count(40, func(n int) string { return fmt.Sprintf("/rooms/book?room=%d&month=2026-05", n) })
	}
	var y, m int
	if n, _ := fmt.Sscanf(q["month"], "%d-%d", &y, &m); n != 2 {
		return "", nil
	}
	month := func(n int) string { return fmt.Sprintf("/rooms/book?room=%s&month=%d-%02d", q["room"], n/12, n%12+1) }
	return fmt.Sprint("Room ", q["room"], " is free in ", q["month"]), []string{month(y*12 + m), month(y*12 + m - 2)}
}

func recurring(p string, _ map[string]string) (string, []string) {
	var y, m int
	if n, _ := fmt.Sscanf(p, "/agenda/%d-%d/", &y, &m); n == 2 {
		month := func(n int) string { return fmt.Sprintf("/agenda/%d-%02d/", n/12, n%12+1) }
		links := []string{month(y*12 + m), month(y*12 + m - 2)}
		for d := 1; d <= 28; d += 7 {
			links = append(links, fmt.Sprintf("/course/yoga/%d-%02d-%02d/", y, m, d), fmt.Sprintf("/course/chess/%d-%02d-%02d/", y, m, d))
		}
		return fmt.Sprint("Courses in ", y, m), links
	}
	if strings.HasPrefix(p, "/course/") {
		return "Come to " + p, []string{"/agenda/" + path.Base(p)[:7] + "/"}
	}
	return "", nil
}

// slots is a calendar in which each day can be booked, under a number of its own.
func slots(p string, q map[string]string) (string, []string) {
	if p == "/book" {
		return "Book slot " + q["slot"], nil
	}
	var y, m int
	if n, _ := fmt.Sscanf(p, "/booking/%d-%d/", &y, &m); n != 2 {
		return "", nil
	}
	month := func(n int) string { return fmt.Sprintf("/booking/%d-%02d/", n/12, n%12+1) }
	return "Free slots in " + p, append(count(5, func(n int) string { return fmt.Sprintf("/book?slot=%d", y*1000+m*10+n) }), month(y*12+m), month(y*12+m-2))
}

func yearAndMonth(_ string, q map[string]string) (string, []string) {
	n := atoi(q["year"])*12 + atoi(q["month"]) - 1
	link := func(n int) string { return fmt.Sprintf("/cal.php?year=%d&month=%d", n/12, n%12+1) }
	return fmt.Sprint("Month ", n), []string{link(n + 1), link(n - 1), link(n + 12)}
}

// wrongLinks is a site whose menu is relative where it should not be: on every page the
// menu leads one level deeper. The server shows the page of the last name.
func wrongLinks(echo bool) world {
	menu := []string{"about", "team", "press", "jobs", "news", "contact", "terms", "help"}
	return func(p string, _ map[string]string) (string, []string) {
		name := path.Base(p)
		if !slices.Contains(menu, name) {
			return "", nil
		}
		text := words(name, 50)
		if echo {
			text += "You are here: " + p
		}
		var links []string
		for _, other := range menu {
			links = append(links, p+other+"/")
		}
		return text, links
	}
}

// pathFilters is a shop that puts filters into the path, in the order of the clicks.
func pathFilters(p string, _ map[string]string) (string, []string) {
	rest, ok := strings.CutPrefix(p, "/list/")
	if !ok {
		return "", nil
	}
	chosen := strings.Split(strings.Trim(rest, "/"), "/")
	var links []string
	for _, value := range []string{"red", "blue", "small", "large", "cotton", "wool", "nike", "puma", "new", "used", "cheap", "women", "men", "kids"} {
		if !slices.Contains(chosen, value) {
			links = append(links, p+value+"/")
		}
	}
	return "Chosen: " + rest + words(rest, 10), links
}

func filters(p string, q map[string]string) (string, []string) {
	if !strings.HasPrefix(p, "/list/") {
		return "", nil
	}
	var links []string
	for _, name := range []string{"colour", "size", "brand", "price", "material", "sort", "view"} {
		for _, value := range []string{"a", "b", "c", "d", "e"} {
			link := p + "?" + name + "=" + value
			for other, chosen := range q {
				if other != name {
					link += "&" + other + "=" + chosen
				}
			}
			links = append(links, link)
		}
	}
	links = sortedCopy(links)
	return "Chosen: " + fmt.Sprint(q) + words(p, 5), links
}

// sessions is an honest site in which every link has an id of its own.
func sessions(inPath bool) world {
	honest := shop(300, 5, func(n int) string { return fmt.Sprintf("/p/%d.html", n) }, func(n int) string { return words(fmt.Sprint("product", n), 20) })
	next := 0
	return func(p string, q map[string]string) (string, []string) {
		if inPath {
			if rest, ok := strings.CutPrefix(p, "/v/"); ok {
				_, p, _ = strings.Cut(rest, "/")
				p = "/" + p
			}
		}
		text, links := honest(p, q)
		for i, link := range links {
			next++
			id := fmt.Sprintf("a%db%dc%dd%de%df", next, next%7, next*31%1000, next*17%1000, next*13%10000000)
			switch {
			case inPath:
				links[i] = "/v/" + id + link
			case strings.Contains(link, "?"):
				links[i] = link + "&visit=" + id
			default:
				links[i] = link + "?visit=" + id
			}
		}
		return text, links
	}
}

func endlessList(p string, q map[string]string) (string, []string) {
	if !strings.HasPrefix(p, "/news") {
		return "", nil
	}
	n := atoi(q["page"])
	if n < 5 {
		return words(fmt.Sprint(p, n), 30), []string{fmt.Sprintf("%s?page=%d", p, n+1)}
	}
	return fmt.Sprintf("There is nothing on page %d.", n), []string{fmt.Sprintf("%s?page=%d", p, n+1)}
}

func everywhere(p string, _ map[string]string) (string, []string) {
	if !strings.HasPrefix(p, "/x/") {
		return "", nil
	}
	return "Welcome!", []string{"/x/" + nth(p+"1"), "/x/" + nth(p+"2"), "/x/" + nth(p+"3")}
}

// login is an account whose every page leads to a login that leads back.
func login(p string, q map[string]string) (string, []string) {
	if p == "/login" {
		return "Please log in.", nil
	}
	if !strings.HasPrefix(p, "/account/") {
		return "", nil
	}
	links := []string{"/login?next=" + strings.ReplaceAll(p, "/", "%2F")}
	for n := range 500 {
		links = append(links, fmt.Sprintf("/account/%d", n))
	}
	return words(p, 20), links
}

func related(p string, q map[string]string) (string, []string) {
	if p != "/search" {
		return "", nil
	}
	return "Results for " + q["q"] + words(q["q"], 20), count(5, func(n int) string { return "/search?q=" + nth(q["q"]+fmt.Sprint(n)) })
}

// nested shares the page that is looked at, which shares the page before it.
func nested(p string, q map[string]string) (string, []string) {
	if p != "/share" {
		return "", nil
	}
	escaped := strings.NewReplacer("%", "%25", "/", "%2F", "?", "%3F").Replace("/share?url=" + q["url"])
	return "Share " + q["url"], []string{"/share?url=" + escaped}
}
