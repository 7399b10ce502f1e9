package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"freshet/internal/app/config"
)

// requestFlags are what can be said with flags of how a source is requested, and of
// what it expects.
type requestFlags struct {
	set *pflag.FlagSet

	profile, method, body, jar, user, bearer, proxy, language, timeout, request string
	headers, form, cookies                                                      []string
	status, match, noMatch                                                      string
}

func (f *requestFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.profile, "profile", "", "request it as this profile of the configuration file says (requests:)")
	set.StringVar(&f.method, "method", "", "HTTP method (default GET, or POST with --body or --form)")
	set.StringArrayVar(&f.headers, "header", nil, "send this header, as 'Name: value'; can be repeated")
	set.StringVar(&f.body, "body", "", "send this body")
	set.StringArrayVar(&f.form, "form", nil, "send this form field, as name=value; can be repeated")
	set.StringArrayVar(&f.cookies, "cookie", nil, "send this cookie, as name=value; can be repeated")
	set.StringVar(&f.jar, "jar", "", "keep cookies between polls: 'source', or a name that several sources share")
	set.StringVar(&f.user, "user", "", "user and password for basic authentication, as 'name:${secret:NAME}'")
	set.StringVar(&f.bearer, "bearer", "", "bearer token, as '${secret:NAME}'")
	set.StringVar(&f.proxy, "proxy", "", "use this proxy, such as socks5://127.0.0.1:1080; it must be listed in allow_proxy")
	set.StringVar(&f.language, "language", "", "language to ask for, such as de (Accept-Language)")
	set.StringVar(&f.timeout, "timeout", "", "give up a poll after this time")
	set.StringVar(&f.request, "request", "", "everything about the request as a JSON object; see docs/requests.md")
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
	switch {
	case f.set.Changed("user") && f.set.Changed("bearer"):
		return usagef("use --user or --bearer, not both")
	case f.set.Changed("user") && f.user != "":
		name, password, ok := strings.Cut(f.user, ":")
		if !ok {
			return usagef("--user: write it as 'name:${secret:NAME}'")
		}
		request["auth"] = map[string]any{"basic": map[string]any{"user": name, "password": password}, "bearer": nil, "oauth2": nil}
	case f.set.Changed("bearer") && f.bearer != "":
		request["auth"] = map[string]any{"bearer": f.bearer, "basic": nil, "oauth2": nil}
	case f.set.Changed("user") || f.set.Changed("bearer"):
		request["auth"] = nil
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
