package api

import (
	"context"
	"net/http"
	"time"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/mcp"
)

// maxCall limits the bytes of a call of a tool.
const maxCall = 1 << 20

// mcpAPI serves assistants over the Model Context Protocol. Their calls are requests of the API, made
// as the caller.
type mcpAPI struct {
	*rest.Server
	version string
	now     func() time.Time
}

func (a *mcpAPI) routes() {
	a.HandleFunc("POST /mcp", a.handler(false))
	a.HandleFunc("POST /mcp/write", a.handler(true))
}

func (a *mcpAPI) handler(write bool) http.HandlerFunc {
	routes := a.Handler()
	tools := mcp.Handler(func(r *http.Request) mcp.Config {
		c := client.New("http://localhost", client.InProcess(onBehalf(r, routes)))
		connect := func(context.Context) (*client.Client, func() error, error) {
			return c, func() error { return nil }, nil
		}
		return mcp.Config{Version: a.version, Write: write, Connect: connect, Now: a.now}
	})
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxCall)
		tools.ServeHTTP(w, r)
	}
}

// onBehalf returns a handler of requests that the caller of another request makes.
func onBehalf(caller *http.Request, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Authorization", "Cookie", "X-Forwarded-For", "X-Forwarded-Proto"} {
			if values := caller.Header.Values(name); len(values) > 0 {
				r.Header[name] = values
			}
		}
		r.Host, r.RemoteAddr, r.TLS = caller.Host, caller.RemoteAddr, caller.TLS
		h.ServeHTTP(w, r.WithContext(caller.Context())) // which knows the caller of a request that another node passed on
	})
}
