package rest

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard keeps out what another site could make a browser send, and keeps what
// is sent back from being run by one.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(r)
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !s.knowsHost(r.Host) {
			p := NewProblem(http.StatusMisdirectedRequest, "this server does not accept the host name "+r.Host)
			p.Hint = "use an IP address or localhost, or add the name to api.names in the configuration file (or FRESHET_API_NAMES)"
			p.Write(w)
			return
		}
		if err := origins.Check(r); err != nil {
			NewProblem(http.StatusForbidden, err.Error()).Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knowsHost reports whether host is a name that only this server has.
func (s *Server) knowsHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(known string) bool { return known == "*" || strings.EqualFold(known, name) })
}

// recover ends a request that panicked without a stack on standard error: huma
// panics when a client goes away in the middle of an answer.
func (s *Server) recover(r *http.Request) {
	if fault := recover(); fault != nil {
		if fault != http.ErrAbortHandler && r.Context().Err() == nil {
			s.Log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "fault", fault)
		}
		panic(http.ErrAbortHandler)
	}
}

// routed answers unknown paths and methods with problems.
func (s *Server) routed() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := s.mux.Handler(r)
		if pattern != "" {
			s.mux.ServeHTTP(w, r)
			return
		}
		v := verdict{header: http.Header{}, status: http.StatusNotFound}
		handler.ServeHTTP(&v, r)
		if v.status < 400 { // a way to the same path in another form, at which there is nothing either
			v.status = http.StatusNotFound
		}
		detail := "there is nothing at " + r.URL.Path
		if allow := v.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			detail = r.URL.Path + " can be asked for with " + allow
		}
		if v.status == http.StatusNotFound && s.Missing != nil && wantsPage(r) {
			s.Missing(w, r)
			return
		}
		NewProblem(v.status, detail).Write(w)
	})
}

// wantsPage reports whether a browser navigates to an address.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/api/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// A verdict takes the status of a response and drops the rest.
type verdict struct {
	header http.Header
	status int
}

// Header implements [http.ResponseWriter].
func (v *verdict) Header() http.Header { return v.header }

// Write implements [http.ResponseWriter].
func (v *verdict) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements [http.ResponseWriter].
func (v *verdict) WriteHeader(status int) { v.status = status }
