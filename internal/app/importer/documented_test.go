package importer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"freshet/internal/app/importer"
)

// documented are the settings that the documentation or the source code of other programs has, each with a value, and what
// becomes of it: a part of the source, a note, or nothing, because it does not matter here.
var documented = []struct {
	format   importer.Format
	template string // %s is the setting
	settings string
}{
	{importer.Urlwatch, "url: https://a.example/\n%s\n", `
name: A => "name":"A"
cookies: {a: b} => "cookies":{"a":"b"}
data: {q: x} => "form":{"q":"x"}
data: text => "body":"text"
method: put => "method":"PUT"
ssl_no_verify: true => ssl_no_verify is not carried over: certificates
ssl_no_verify: false =>
ignore_cached: true =>
http_proxy: "http://p.example:3128" => "proxy":"http://p.example:3128"
https_proxy: "socks5://p.example:1080" => "proxy":"socks5://p.example:1080"
headers: {X-A: b} => "headers":{"X-A":"b"}
encoding: iso-8859-2 => encoding iso-8859-2 is not carried over
timeout: 30 => "timeout":"30s"
ignore_connection_errors: true =>
ignore_http_error_codes: 4xx, 5xx =>
ignore_timeout_errors: true =>
ignore_too_many_redirects: true =>
ignore_incomplete_reads: true =>
user_visible_url: https://b.example/ => user_visible_url https://b.example/ is not carried over
url_for_human: https://b.example/ => url_for_human https://b.example/ is not carried over
max_tries: 3 =>
diff_tool: wdiff => diff_tool wdiff is not carried over
diff_filter: [strip] => diff_filter [\"strip\"] is not carried over
treat_new_as_changed: true =>
compared_versions: 3 =>
kind: url =>
enabled: false => "paused":true
enabled: true =>
tags: [a, b] => "tags":["a","b"]
index_number: 3 =>
filter: beautify => "pretty":"html"
filter: [{css: {selector: p, exclude: i, skip: 1, maxitems: 2, sort: true, method: xml, namespaces: {m: x}}}] => {"drop":{"css":["i"]}},{"css":{"first":2,"selector":"p","skip":1}}
filter: [{csv2text: {format_message: "{a}", ignore_header: true, has_header: true}}] => {"header":false}
filter: [{element-by-class: c}] => [class=\"c\"]
filter: [{element-by-id: i}] => [id=\"i\"]
filter: [{element-by-style: s}] => [style=\"s\"]
filter: [{element-by-tag: b}] => {"css":"b"}
filter: [{format-json: {indentation: 2, sort_keys: true}}] => {"pretty":"json"}
filter: [{grep: x}] => {"keep":"x"}
filter: [{grepi: x}] => {"drop":"x"}
filter: hexdump => filter hexdump is not carried over
filter: html2text => ["text"]
filter: [{html2text: {method: re}}] => ["text"]
filter: [{html2text: pyhtml2text}] => ["markdown"]
filter: [{pdf2text: {password: x}}] => the password of pdf2text is not carried over
filter: pretty-xml => {"pretty":"xml"}
filter: ical2text => ["ical"]
filter: [{ocr: {timeout: 5, language: eng}}] => filter ocr is not carried over
filter: [{re.sub: {pattern: a, repl: b}}] => {"pattern":"a","with":"b"}
filter: [{re.findall: {pattern: a}}] => {"group":0,"pattern":"a"}
filter: [{reverse: {separator: "|"}}] => {"reverse":true,"separator":"|"}
filter: sha1sum => filter sha1sum is not carried over
filter: [{shellpipe: "tr a b"}] => filter shellpipe is not carried over: add the source to the configuration file
filter: [{sort: {separator: "|", reverse: true}}] => {"fold":true,"reverse":true,"separator":"|","sort":true}
filter: [{remove-duplicate-lines: "|"}] => {"separator":"|","unique":true}
filter: strip =>
filter: striplines => {"trim":true}
filter: [{xpath: {path: //p, exclude: //i, skip: 1, maxitems: 1}}] => {"drop":{"xpath":["//i"]}},{"xpath":{"first":1,"selector":"//p","skip":1}}
filter: [{jq: ".a"}] => {"jq":".a"}
filter: [mine] => filter mine is not carried over
mine: 1 => mine is not carried over`},

	{importer.Urlwatch, "navigate: https://a.example/\n%s\n", `
wait_until: networkidle =>
wait_for: "#x" => "render":{"steps":[{"wait":"#x"}]}
useragent: UA/1 => "User-Agent":"UA/1"
browser: firefox =>`},

	{importer.Webchanges, "url: https://a.example/\n%s\n", `
additions_only: true => added.matches(
deletions_only: true => removed.matches(
contextlines: 5 =>
data: {a: {b: 1}} => "body":"{\"a\":{\"b\":1}}"
differ: unified => differ unified is not carried over
differ: {name: table} => differ {\"name\":\"table\"} is not carried over
diff_filters: [strip] => diff_filters [\"strip\"] is not carried over
empty_as_transient: true =>
guid: x =>
http_client: requests =>
http_credentials: "a:b" => http_credentials is not carried over: it is secret
ignore_dh_key_too_small: true => ignore_dh_key_too_small is not carried over
is_markdown: true =>
markdown_padded_tables: true =>
mime_type: application/json => "kind":"json"
mime_type: image/png => mime_type image/png is not carried over
monospace: true =>
no_conditional_request: true =>
no_redirects: true => no_redirects is not carried over: redirects are followed
note: text => "name":"text"
params: {a: 1} => ?a=1
proxy: "http://p.example:3128" => "proxy":"http://p.example:3128"
retries: 2 =>
stderr: fail =>
suppress_error_ended: true =>
suppress_errors: true =>
suppress_repeated_errors: true =>
tz: Europe/Berlin =>
use_browser: true => "render":true
filters: [absolute_links] => filter absolute_links is not carried over
filters: [ascii85] => filter ascii85 is not carried over
filters: [base64] => filter base64 is not carried over
filters: [{delete_lines_containing: {re: x}}] => {"drop":"x"}
filters: [{delete_lines_containing: {text: a.b}}] => {"drop":"a\\.b"}
filters: [{keep_lines_containing: a.b}] => {"keep":"a\\.b"}
filters: [{execute: "tr a b"}] => filter execute is not carried over
filters: [format-xml] => {"pretty":"xml"}
filters: [{html2text: {method: html2text}}] => ["markdown"]
filters: [{html2text: {method: bs4, separator: x, strip: true}}] => ["text"]
filters: [{html2text: {method: strip_tags}}] => ["text"]
filters: [jsontoyaml] => {"pretty":"yaml"}
filters: [{remove_repeated: {adjacent: false}}] => {"unique":true}
filters: [{remove_repeated: {ignore_case: true}}] => ignore_case of remove-repeated is not carried over
filters: [{remove_repeated: "|"}] => keeps lines that come back
filters: [sha256sum] => filter sha256sum is not carried over
filters: [{strip: {splitlines: true}}] => {"trim":true}
filters: [{strip: {chars: x, side: right}}] => [x]+\\z
filters: [{csv2text: {format_message: "{a}", has_header: false}}] => {"header":false}`},

	{importer.Webchanges, "url: https://a.example/\nuse_browser: true\n%s\n", `
block_elements: [image] =>
chromium_revision: 1 =>
evaluate: f() => evaluate f() is not carried over
ignore_default_args: true =>
ignore_https_errors: true => ignore_https_errors is not carried over: certificates
init_script: x() => init_script x() is not carried over
initialization_js: x() => initialization_js x() is not carried over
initialization_url: https://a.example/login => initialization_url https://a.example/login is not carried over
referer: https://r.example/ => "Referer":"https://r.example/"
switches: [--x] => switches [\"--x\"] is not carried over
user_data_dir: /x => user_data_dir /x is not carried over
wait_for_function: x() => wait_for_function x() is not carried over
wait_for_navigation: https://b.example/ => wait_for_navigation https://b.example/ is not carried over
wait_for_selector: {selector: "#x", state: visible} => {"wait":"#x"}
wait_for_selector: ["#x", ".y"] => [{"wait":"#x"},{"wait":".y"}]
wait_for_timeout: 5 => {"wait":"5s"}
wait_for_url: https://b.example/ => wait_for_url https://b.example/ is not carried over
wait_until: load =>`},

	{importer.Changedetection, `{"watching": {"w": {"url": "https://a.example/", %s}}}`, `
"title": "A" => "name":"A"
"page_title": "A" => "name":"A"
"tag": "a, b" => "tags":["a","b"]
"paused": true => "paused":true
"method": "POST" => "method":"POST"
"body": "x" => "body":"x"
"headers": {"X-A": "b"} => "headers":{"X-A":"b"}
"headers.txt": {"X-A": "b"} => "headers":{"X-A":"b"}
"ignore_status_codes": true => "expect":{"status"
"proxy": "no-proxy" =>
"proxy": "home" => proxy home is not carried over
"fetch_backend": "html_webdriver" => "render":true
"fetch_backend": "extra_browser_x" => "render":true
"fetch_backend": "html_requests" =>
"webdriver_delay": 3 => {"wait":"3s"}
"webdriver_js_execute_code": "x()" => webdriver_js_execute_code is not carried over
"browser_steps": [{"operation": "Click element", "selector": "#a"}] => {"click":"#a"}
"browser_steps": [{"operation": "Click element if exists", "selector": "#a"}] => {"click":"#a"}
"browser_steps": [{"operation": "Check checkbox", "selector": "#a"}] => {"click":"#a"}
"browser_steps": [{"operation": "Enter text in field", "selector": "#a", "optional_value": "x"}] => {"fill":{"#a":"x"}}
"browser_steps": [{"operation": "Wait for seconds", "optional_value": "2"}] => {"wait":"2s"}
"browser_steps": [{"operation": "Scroll down"}] => "scroll"
"browser_steps": [{"operation": "Remove elements", "selector": ".ad"}] => {"drop":{"css":[".ad"]}}
"browser_steps": [{"operation": "Click element containing text", "optional_value": "x"}] => the browser step \"Click element containing text\" is not carried over
"browser_steps": [{"operation": "Execute JS", "optional_value": "x"}] => the browser step \"Execute JS\" is not carried over
"browser_steps": [{"operation": "Goto site"}] =>
"include_filters": ["p", "h1"] => {"css":"p, h1"}
"include_filters": ["xpath1://p"] => {"xpath":"//p"}
"include_filters": ["jqraw:.a"] => {"jq":".a"}
"include_filters": ["json:$.a", "json:$.b"] => {"jq":".a, .b"}
"include_filters": ["p", "//b"] => filter xpath: //b is not carried over
"subtractive_selectors": ["nav"] => {"drop":{"css":["nav"]}}
"extract_text": ["/a(b)/i"] => {"regex":
"ignore_text": ["x"] => {"drop":"(?i:x)"}
"trigger_text": ["x"] => text.matches(
"text_should_not_be_present": ["x"] => !text.matches(
"trim_text_whitespace": true => {"trim":true}
"remove_duplicate_lines": true => {"unique":true}
"sort_text_alphabetically": true => {"sort":true}
"strip_ignored_lines": true => strip_ignored_lines is not carried over
"check_unique_lines": true => check_unique_lines is not carried over
"filter_text_added": false => size(removed)
"filter_text_removed": false => size(added)
"filter_text_replaced": false => size(added)
"conditions": [{"field": "page_filtered_text", "operator": "contains_regex", "value": "x"}] => text.matches(\"x\")
"conditions": [{"field": "extracted_number", "operator": ">", "value": "5"}] => now.number \u003e 5
"conditions": [{"field": "levenshtein_ratio", "operator": ">", "value": "0.5"}] => the condition levenshtein_ratio
"processor": "text_json_diff" =>
"processor": "image_ssim_diff" => "compare":"picture"
"processor": "restock_diff" => now.price != before.price
"processor": "restock_diff", "processor_config_restock_diff": {"follow_price_changes": true, "in_stock_processing": "off", "price_change_min": 7} => now.price \u003c 7
"processor": "restock_diff", "restock_settings": {"follow_price_changes": true, "price_change_max": 9} => now.price \u003e 9
"processor": "restock_diff", "price_change_threshold_percent": 5 => percent(before.price, now.price)
"processor": "restock_diff", "price_change_custom_include_filters": [".p"] => "css":".p"
"time_between_check": {"hours": 2}, "time_between_check_use_default": false => 90% within 2h
"time_schedule_limit": {"enabled": true, "timezone": "Europe/Berlin", "monday": {"enabled": true, "start_time": "09:00", "duration": {"hours": "8", "minutes": "30"}}} => mon 09:00-17:30 Europe/Berlin
"history_snapshot_max_length": 30 => "keep":{"versions":30}
"notification_urls": ["json://n.example/x"] => json://n.example/x
"notification_urls": ["json://n.example/x"], "notification_muted": true =>
"notification_urls": ["tgram://a/b"], "notification_title": "T {{watch_url}}" => T {{.URL}}
"notification_urls": ["tgram://a/b"], "notification_body": "{{diff_added}}" => {{.Added}}
"notification_urls": ["tgram://a/b"], "notification_body": "{{other}}" => {{other}} of the notification is not carried over
"notification_format": "Markdown" =>
"notification_screenshot": true => notification_screenshot is not carried over
"filter_failure_notification_send": false =>
"track_ldjson_price_data": "accepted" =>
"use_page_title_in_list": true =>
"extract_title_as_title": true =>
"llm_intent": "tell me of sales" => llm_intent is not carried over
"last_error": "x" =>
"history_n": 3 =>
"check_count": 3 =>
"remote_server_reply": "nginx" =>`},

	{importer.Changedetection, `{"watching": {"w": {"url": "https://a.example/", "tags": ["t"], "time_between_check_use_default": true}}, "settings": {%s}}`, `
"headers": {"X-A": "b"} => "headers":{"X-A":"b"}
"requests": {"time_between_check": {"hours": 2}} => 90% within 2h
"requests": {"timeout": 45} =>
"requests": {"timeout": 90} => "timeout":"1m30s"
"requests": {"proxy": "ui-0home", "extra_proxies": [{"proxy_name": "x"}, {"proxy_name": "home", "proxy_url": "http://p.example:1"}]} => "proxy":"http://p.example:1"
"requests": {"workers": 5, "jitter_seconds": 3} =>
"requests": {"default_ua": {"html_requests": "UA/1"}}, "application": {"fetch_backend": "html_requests"} => "User-Agent":"UA/1"
"application": {"fetch_backend": "html_webdriver"} => "render":true
"application": {"fetch_backend": "html_webdriver", "webdriver_delay": 2} => {"wait":"2s"}
"application": {"global_ignore_text": ["x"]} => {"drop":"(?i:x)"}
"application": {"global_subtractive_selectors": ["nav"]} => {"drop":{"css":["nav"]}}
"application": {"history_snapshot_max_length": 9} => "keep":{"versions":9}
"application": {"ignore_status_codes": true} => "expect":{"status"
"application": {"render_anchor_tag_content": true} => "markdown"
"application": {"all_paused": true} => "paused":true
"application": {"notification_urls": ["json://n.example/x"]} => json://n.example/x
"application": {"notification_urls": ["json://n.example/x"], "all_muted": true} =>
"application": {"tags": {"t": {"title": "News"}}} => "tags":["News"]
"application": {"tags": {"t": {"overrides_watch": true, "include_filters": ["p"]}}} => {"css":"p"}
"application": {"tags": {"t": {"overrides_watch": false, "include_filters": ["p"]}}} =>
"application": {"tags": {"t": {"overrides_watch": true, "fetch_backend": "system"}}, "fetch_backend": "html_webdriver"} => "render":true
"application": {"tags": {"t": {"notification_urls": ["json://n.example/t"]}}} => json://n.example/t
"application": {"pager_size": 50, "password": false, "empty_pages_are_a_change": true, "shared_diff_access": true, "ssim_threshold": "0.9"} =>`},

	{importer.Huginn, `{"agents": [{"type": "Agents::WebsiteAgent", "options": {"url": "https://a.example/", %s}}]}`, `
"type": "html" =>
"mode": "on_change" =>
"extract": {"t": {"css": "h1", "value": "."}} => "css":"h1"
"extract": {"t": {"xpath": "//h1"}} => "xpath":"//h1"
"type": "json", "extract": {"t": {"path": "a.b"}} => "jsonpath":"$.a.b"
"type": "text", "extract": {"t": {"regexp": "a(b)", "index": 1}} => "regex":"a(b)"
"headers": {"X-A": "b"} => "headers":{"X-A":"b"}
"user_agent": "UA/1" => "User-Agent":"UA/1"
"basic_auth": "a:b" => basic_auth is not carried over: it is secret
"proxy": "http://p.example:1" => "proxy":"http://p.example:1"
"disable_ssl_verification": "true" => disable_ssl_verification is not carried over: certificates
"disable_redirect_follow": true => disable_redirect_follow is not carried over
"force_encoding": "UTF-8" => force_encoding UTF-8 is not carried over
"unzip": "gzip" => {"decode":"gzip"}
"http_success_codes": [404, 422] => "status":[200,404,422]
"template": {"a": "{{b}}"} => template {\"a\":\"{{b}}\"} is not carried over
"event_headers": ["ETag"] => event_headers [\"ETag\"] is not carried over
"uniqueness_look_back": 10 =>
"expected_update_period_in_days": 2 =>
"mine": 1 => mine is not carried over`},

	{importer.Distill, `{"client": {}, "data": [{"uri": "https://a.example/", %s}]}`, `
"name": "A" => "name":"A"
"tags": [{"name": "t"}] => "tags":["t"]
"state": 40 =>
"state": 20 => "paused":true
"content_type": 2 =>
"schedule": "{\"type\":\"INTERVAL\",\"params\":{\"interval\":3600}}" => 90% within 1h
"schedule": "{\"type\":\"CRON\"}" => the schedule {\"type\":\"CRON\"} is not carried over
"rules": [1] => rules [1] is not carried over
"actions": [1] => actions [1] is not carried over
"config": "{\"selections\":[{\"dynamic\":true,\"delay\":2,\"frames\":[]}]}" => {"wait":"2s"}
"config": "{\"selections\":[{\"frames\":[{\"index\":0,\"includes\":[{\"type\":\"css\",\"expr\":\"p\"}],\"excludes\":[{\"type\":\"xpath\",\"expr\":\"//i\"}]}]}]}" => {"drop":{"xpath":["//i"]}},{"css":"p"}
"config": "{\"dataAttr\":\"href\"}" => dataAttr href is not carried over
"config": "{\"includeStyle\":true}" => includeStyle is not carried over
"config": "{\"ignoreEmptyText\":true}" =>
"config": "{\"regexp\":{\"expr\":\"a+\"}}" => {"group":0,"pattern":"a+"}`},
}

// Every documented setting is carried over, is noted with the nearest that exists, or does not matter here.
func TestDocumentedSettings(t *testing.T) {
	for _, program := range documented {
		becomes := func(setting string) string {
			entries, err := read(program.format, fmt.Sprintf(program.template, setting), importer.Options{})
			if err != nil || len(entries) != 1 || entries[0].Err != nil {
				t.Errorf("%s: %s: %+v, %v", program.format, setting, entries, err)
				return ""
			}
			e := entries[0]
			text, _ := json.Marshal([]any{e.Source, e.When, e.Receivers, e.Notes})
			return string(text)
		}
		nothing := map[importer.Format]string{importer.Changedetection: `"uuid": null`, importer.Huginn: `"type": null`, importer.Distill: `"ts": null`}[program.format]
		if strings.Contains(program.template, `"settings"`) {
			nothing = `"x": null`
		}
		bare := becomes(nothing)
		for line := range strings.Lines(strings.TrimSpace(program.settings)) {
			setting, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " =>")
			want = strings.TrimSpace(want)
			switch got := becomes(setting); {
			case want == "" && got != bare:
				t.Errorf("%s: %s becomes %s, want nothing but %s", program.format, setting, got, bare)
			case !strings.Contains(got, want):
				t.Errorf("%s: %s becomes %s, want %s", program.format, setting, got, want)
			}
		}
	}
}

// The folder of changedetection.io has settings beside those of watches. What it had before it was migrated is left there,
// and counts no more.
func TestFilesBesideWatches(t *testing.T) {
	l, err := importer.ReadFolder(fstest.MapFS{
		"url-watches.json":     {Data: []byte(`{"watching": {"old": {"url": "https://old.example/"}}}`)},
		"changedetection.json": {Data: []byte(`{"settings": {"application": {"fetch_backend": "system"}}}`)},
		"proxies.json":         {Data: []byte(`{"home": {"label": "Home", "url": "http://p.example:3128"}}`)},
		"browsers.json":        {Data: []byte(`{"b1": {"label": "Phone", "base_fetcher": "html_webdriver", "browser_config": {"viewport_width": 375, "viewport_height": 812, "user_agent": "UA/1", "locale": "de-DE", "timezone_id": "UTC", "timeout": 60}}}`)},
		"headers.txt":          {Data: []byte("# of all\nX-All: 1\nX-Both: all\n")},
		"headers-mynews.txt":   {Data: []byte("X-Tag: 3\n")},
		"v/watch.json":         {Data: []byte(`{"url": "https://b.example/", "fetch_backend": "b1"}`)},
		"w/watch.json":         {Data: []byte(`{"url": "https://a.example/", "proxy": "home", "tags": ["t"], "processor": "restock_diff"}`)},
		"w/headers.txt":        {Data: []byte("X-Both: own\n")},
		"w/restock_diff.json":  {Data: []byte(`{"restock_diff": {"in_stock_processing": "off", "price_change_max": 9}}`)},
		"t/tag.json":           {Data: []byte(`{"title": "My news!"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := read(l.Format, l.Text, importer.Options{})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	text, _ := json.Marshal([]any{entries[0].Source, entries[0].Notes, entries[1].Source, entries[1].When})
	for _, want := range []string{
		`"proxy":"http://p.example:3128"`, `"X-All":"1"`, `"X-Both":"own"`, `"X-Tag":"3"`, `"User-Agent":"UA/1"`, `"Accept-Language":"de-DE"`, `"viewport":"375x812"`,
		`"timeout":"1m0s"`, `now.price \u003e 9`, `timezone_id UTC is not carried over`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
}
