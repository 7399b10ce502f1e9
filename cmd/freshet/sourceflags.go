package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/app/config"
	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/units"
)

// sourceFlags are what can be said of a source with flags.
type sourceFlags struct {
	set    *pflag.FlagSet
	fields []freshet.SourceField // that have a flag
	texts  map[string][]string   // what was given, by the name of the field
}

// register adds the flags of all fields, or of those in a section.
func (f *sourceFlags) register(set *pflag.FlagSet, section string) {
	f.set, f.texts = set, map[string][]string{}
	for _, field := range freshet.SourceFields() {
		if field.Flag != "" && strings.HasPrefix(field.Name, section) {
			f.fields = append(f.fields, field)
			set.Var(&fieldFlag{field, f.texts}, field.Flag, field.Help)
			set.Lookup(field.Flag).NoOptDefVal = field.Bare
		}
	}
}

// A fieldFlag is a flag that says something of a source.
type fieldFlag struct {
	field freshet.SourceField
	texts map[string][]string
}

// String returns what was given.
func (f *fieldFlag) String() string { return strings.Join(f.texts[f.field.Name], ",") }

// Type returns what the flag takes, for its help.
func (f *fieldFlag) Type() string { return f.field.Kind }

// Set reads a value. An empty one is the default, and so is the number 0. Of a
// list it adds the items.
func (f *fieldFlag) Set(v string) error {
	if f.field.List {
		f.texts[f.field.Name] = append(f.texts[f.field.Name], config.SplitList(v)...)
		return nil
	}
	f.texts[f.field.Name] = nil
	if v == "" || v == "0" && f.field.Kind != "string" {
		return nil
	}
	f.texts[f.field.Name] = []string{v}
	if f.field.Kind == "string" {
		return nil // judged with the rest of the source
	}
	return invalid.ReasonOf(f.field.Read(&freshet.Source{}, v))
}

// described returns what the flags say of a source.
func (f *sourceFlags) described() (s freshet.Source, err error) {
	for _, field := range f.fields {
		if texts := f.texts[field.Name]; len(texts) > 0 {
			if err := field.Read(&s, texts...); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// newSource returns what the flags say of a source to be added.
func (f *sourceFlags) newSource() (n client.NewSource, err error) {
	s, err := f.described()
	if err != nil {
		return n, err
	}
	return client.NewSourceOf(s), nil
}

// dial is the name of the field that sets others by a name.
const dial = "dial"

// edit returns what the flags say of a source that is there. Only a flag that
// was given changes something.
func (f *sourceFlags) edit() (patch client.Patch, err error) {
	s, err := f.described()
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, field := range f.fields {
		if f.set.Changed(field.Flag) {
			changed = append(changed, field.Name)
		}
	}
	if err := json.Unmarshal(s.Part(changed...), &patch); err != nil {
		return nil, err
	}
	if delete(patch, dial); len(f.texts[dial]) > 0 { // the API applies it, next to what else is in the patch
		patch[dial] = f.texts[dial][0]
	}
	return patch, nil
}

// A lengthFlag is a length of time as people write it.
type lengthFlag = cli.Length

// siteFlags are what can be said with flags of a source that stands for a whole site.
type siteFlags struct {
	set *pflag.FlagSet

	site, subdomains     bool
	match, exclude, find []string
	limit, depth         int
	share                string
}

func (f *siteFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.BoolVar(&f.site, "site", false, "watch the whole site that begins at the URL: a page, a sitemap or a feed")
	set.StringArrayVar(&f.match, "match", nil, "with --site: watch only pages whose path matches this pattern, such as '/guide/**'; can be repeated")
	set.StringArrayVar(&f.exclude, "exclude", nil, "with --site: leave out pages whose path matches this pattern; can be repeated")
	set.StringSliceVar(&f.find, "find", nil, "with --site: find pages by sitemaps, feeds or links only (default all three)")
	set.IntVar(&f.limit, "limit", 0, "with --site: watch at most this many pages (default 10000)")
	set.IntVar(&f.depth, "depth", 0, "with --site: follow links at most this far from the first page (default 10)")
	set.BoolVar(&f.subdomains, "subdomains", false, "with --site: include subdomains")
	set.StringVar(&f.share, "share", "", "with --site: most of the budget to use for it, such as 30% (default 50% while other sources want the rest)")
}

// described returns what the flags say of a new source, as the API takes it; nil if they
// say nothing.
func (f *siteFlags) described() (any, error) {
	site, err := f.given()
	switch {
	case err != nil:
		return nil, err
	case !f.site && len(site) > 0:
		return nil, freshet.WithHint(usagef("--match, --exclude, --find, --limit, --depth, --subdomains and --share are for a whole site"), "add --site")
	case !f.site:
		return nil, nil
	case len(site) == 0:
		return true, nil
	}
	return site, nil
}

// edit returns what the flags change, as the API takes it; nil if they change nothing.
func (f *siteFlags) edit() (any, error) {
	site, err := f.given()
	switch {
	case err != nil:
		return nil, err
	case f.set.Changed("site") && !f.site:
		return json.RawMessage("null"), nil
	case len(site) > 0:
		return site, nil
	case f.site:
		return true, nil
	}
	return nil, nil
}

// given returns the flags that were given, by their names in the file.
func (f *siteFlags) given() (map[string]any, error) {
	site := map[string]any{}
	for name, value := range map[string]any{
		"match": f.match, "exclude": f.exclude, "find": f.find, "limit": f.limit, "depth": f.depth, "subdomains": f.subdomains,
	} {
		if f.set.Changed(name) {
			site[name] = value
		}
	}
	if f.set.Changed("share") {
		x, err := units.ParseShare(f.share)
		if err != nil || x == 0 {
			return nil, usagef("--share: %q is not a share above 0%% and up to 100%%", f.share)
		}
		site["share"] = units.FormatShare(x)
	}
	return site, nil
}

// requestFlags are what can be said with flags of how a source is requested, and of
// what it expects.
type requestFlags struct {
	set *pflag.FlagSet

	profile, method, body, jar, user, digest, bearer, proxy, language, timeout, request string
	headers, form, cookies                                                              []string
	status, match, noMatch                                                              string
}

func (f *requestFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.profile, "profile", "", "request it with this profile of the configuration file (requests:)")
	set.StringVar(&f.method, "method", "", "HTTP method (default GET, or POST with --body or --form)")
	set.StringArrayVar(&f.headers, "header", nil, "send this header, as 'Name: value'; can be repeated")
	set.StringVar(&f.body, "body", "", "send this body")
	set.StringArrayVar(&f.form, "form", nil, "send this form field, as name=value; can be repeated")
	set.StringArrayVar(&f.cookies, "cookie", nil, "send this cookie, as name=value; can be repeated")
	set.StringVar(&f.jar, "jar", "", "keep cookies between polls: 'source', or a name that several sources share")
	set.StringVar(&f.user, "user", "", "user and password for basic authentication, as 'name:${secret:NAME}'")
	set.StringVar(&f.digest, "digest", "", "user and password for digest authentication, as 'name:${secret:NAME}'")
	set.StringVar(&f.bearer, "bearer", "", "bearer token, as '${secret:NAME}'")
	set.StringVar(&f.proxy, "proxy", "", "use this proxy, such as socks5://127.0.0.1:1080; it must be listed in allow_proxy")
	set.StringVar(&f.language, "language", "", "language to ask for, such as de (Accept-Language)")
	set.StringVar(&f.timeout, "timeout", "", "give up a poll after this time")
	set.StringVar(&f.request, "request", "", "everything about the request as a JSON object; see docs/reference/requests.md")
	set.StringVar(&f.status, "expect-status", "", "HTTP status codes that count as success, such as 200,404")
	set.StringVar(&f.match, "expect-match", "", "fail unless the page matches this regular expression")
	set.StringVar(&f.noMatch, "expect-no-match", "", "fail if the page matches this regular expression")
}

// described returns what the flags say, as the API takes it; nil if they say nothing.
// An empty value is null, which sets back what was there.
func (f *requestFlags) described() (request, expect map[string]any, err error) {
	request, expect = map[string]any{}, map[string]any{}
	if f.request != "" {
		if err := json.Unmarshal([]byte(f.request), &request); err != nil {
			return nil, nil, usagef("--request: is not a JSON object: %v", err)
		}
	}
	word := func(in map[string]any, flag, key, value string) {
		switch {
		case !f.set.Changed(flag):
		case value == "":
			in[key] = nil
		default:
			in[key] = value
		}
	}
	word(request, "profile", "use", f.profile)
	word(request, "method", "method", f.method)
	word(request, "body", "body", f.body)
	word(request, "jar", "jar", f.jar)
	word(request, "proxy", "proxy", f.proxy)
	word(request, "language", "language", f.language)
	word(request, "timeout", "timeout", f.timeout)
	word(expect, "expect-match", "match", f.match)
	word(expect, "expect-no-match", "no_match", f.noMatch)
	for _, list := range []struct {
		flag, key, mark string
		items           []string
	}{{"header", "headers", ":", f.headers}, {"form", "form", "=", f.form}, {"cookie", "cookies", "=", f.cookies}} {
		if err := pairs(request, list.flag, list.key, list.mark, list.items); err != nil {
			return nil, nil, err
		}
	}
	if err := f.auth(request); err != nil {
		return nil, nil, err
	}
	if f.set.Changed("expect-status") {
		expect["status"], err = statuses(f.status)
	}
	return orNil(request), orNil(expect), err
}

func orNil(m map[string]any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	return m
}

// pairs reads names with their values.
func pairs(into map[string]any, flag, key, mark string, items []string) error {
	if len(items) == 0 {
		return nil
	}
	values := map[string]any{}
	for _, item := range items {
		name, value, ok := strings.Cut(item, mark)
		if !ok || strings.TrimSpace(name) == "" {
			return usagef("--%s: %q is not a name and a value with %q between them", flag, item, mark)
		}
		values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		if strings.TrimSpace(value) == "" {
			values[strings.TrimSpace(name)] = nil
		}
	}
	into[key] = values
	return nil
}

// auth reads the credentials of the request.
func (f *requestFlags) auth(request map[string]any) error {
	given := 0
	how := map[string]any{"basic": nil, "digest": nil, "bearer": nil, "oauth2": nil}
	for _, one := range []struct{ flag, key, value string }{{"user", "basic", f.user}, {"digest", "digest", f.digest}, {"bearer", "bearer", f.bearer}} {
		if !f.set.Changed(one.flag) {
			continue
		}
		if given++; given > 1 {
			return usagef("use one of --user, --digest and --bearer")
		}
		if one.value == "" {
			request["auth"] = nil
			continue
		}
		request["auth"] = how
		if one.flag == "bearer" {
			how[one.key] = one.value
			continue
		}
		name, password, ok := strings.Cut(one.value, ":")
		if !ok {
			return usagef("--%s: write it as 'name:${secret:NAME}'", one.flag)
		}
		how[one.key] = map[string]any{"user": name, "password": password}
	}
	return nil
}

func statuses(list string) (any, error) {
	if list == "" {
		return nil, nil
	}
	var found []int
	for _, item := range config.SplitList(list) {
		n, err := strconv.Atoi(item)
		if err != nil {
			return nil, usagef("--expect-status: %q is not a status code", item)
		}
		found = append(found, n)
	}
	return found, nil
}

// withoutNull returns an object without its nulls, as a new source has it.
func withoutNull(m map[string]any) map[string]any {
	for name, value := range m {
		switch v := value.(type) {
		case nil:
			delete(m, name)
		case map[string]any:
			withoutNull(v)
		}
	}
	return orNil(m)
}
