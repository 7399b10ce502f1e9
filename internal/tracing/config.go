package tracing

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// A config is what the variables of the specification say.
type config struct {
	endpoint string // "" means that nothing is exported
	header   http.Header
	timeout  time.Duration // of one request
	resource *resourcepb.Resource
	scope    *commonpb.InstrumentationScope
}

// configOf reads the variables. Those for traces alone come before those for all signals.
func configOf(env func(string) string, version string) (c config, err error) {
	either := func(name string) (key, value string) {
		if key = "OTEL_EXPORTER_OTLP_TRACES_" + name; env(key) == "" {
			key = "OTEL_EXPORTER_OTLP_" + name
		}
		return key, env(key)
	}
	key, endpoint := either("ENDPOINT")
	if endpoint == "" || env("OTEL_SDK_DISABLED") == "true" || env("OTEL_TRACES_EXPORTER") == "none" {
		return c, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, fmt.Errorf("%s: %q is no http or https URL", key, endpoint)
	}
	if key == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1/traces")
	}
	c.endpoint = u.String()
	if key, protocol := either("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return c, fmt.Errorf("%s: traces are sent by http/protobuf, not %s; collectors take it on port 4318", key, protocol)
	}
	c.timeout = 10 * time.Second
	if key, timeout := either("TIMEOUT"); timeout != "" {
		ms, err := strconv.Atoi(timeout)
		if err != nil || ms <= 0 {
			return c, fmt.Errorf("%s: %q is no number of milliseconds", key, timeout)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	c.header = http.Header{}
	key, headers := either("HEADERS")
	if err := eachPair(key, headers, func(name, value string) { c.header.Set(name, value) }); err != nil {
		return c, err
	}
	c.scope = &commonpb.InstrumentationScope{Name: "freshet", Version: version}
	about := map[string]string{"service.name": "freshet", "service.version": version}
	if err := eachPair("OTEL_RESOURCE_ATTRIBUTES", env("OTEL_RESOURCE_ATTRIBUTES"), func(name, value string) { about[name] = value }); err != nil {
		return c, err
	}
	about["service.name"] = cmp.Or(env("OTEL_SERVICE_NAME"), about["service.name"])
	c.resource = &resourcepb.Resource{}
	for _, name := range slices.Sorted(maps.Keys(about)) {
		c.resource.Attributes = append(c.resource.Attributes, text(name, about[name]))
	}
	return c, nil
}

// eachPair calls do for each pair of a list such as a=b,c=d. Its error does not show the list,
// which may hold a token.
func eachPair(key, list string, do func(name, value string)) error {
	for i, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return fmt.Errorf("%s: entry %d is not written name=value with percent-encoding", key, i+1)
		}
		do(name, value)
	}
	return nil
}
