package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/cluster/delivery"
	"freshet/internal/fetch"
	"freshet/internal/store/postgres"
)

// What a node says of a request that it forwards to the leader. Only a node on the
// same database has the token.
const (
	forwardedHeader = "Freshet-Passed"     // it was forwarded, and is not to be again
	nodeHeader      = delivery.TokenHeader // the token of the node, for what the other headers say
)

// forwardTimeout is how long the leader may take to begin an answer.
const forwardTimeout = 2 * time.Minute

// A forwarder forwards requests to the leader.
type forwarder struct {
	token  string // of this node
	leader atomic.Pointer[leader]
	proxy  *httputil.ReverseProxy
	log    *slog.Logger
}

// A leader is the leader, for as long as it does.
type leader struct {
	postgres.Lease
	at  *url.URL
	ctx context.Context // of the requests that are forwarded to it
	end context.CancelCauseFunc
}

var errMoved = errors.New("another node leads now")

func newForwarder(token string, log *slog.Logger) *forwarder {
	p := &forwarder{token: token, log: log}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: fetch.Trusted(forwardTimeout).Transport, FlushInterval: -1,
		ErrorHandler: p.failed, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: checkAnswer,
	}
	return p
}

// errUnknownNode says that the leader has not heard of this one, or not for a while. It
// has then done nothing.
var errUnknownNode = errors.New("the leader does not know this one")

// checkAnswer checks the answer of the leader.
func checkAnswer(r *http.Response) error {
	r.Header.Del(instanceHeader)
	if r.StatusCode == http.StatusForbidden && r.Header.Get(nodeHeader) != "" {
		return errUnknownNode
	}
	return nil
}

// follow records the current leader and cancels requests to a former one.
func (p *forwarder) follow(l postgres.Lease) {
	was := p.leader.Load()
	if was != nil && was.Term == l.Term && was.Address == l.Address && l.Held() {
		return
	}
	var now *leader
	if at, err := url.Parse(l.Address); err == nil && l.Held() && at.Host != "" {
		now = &leader{Lease: l, at: at}
		now.ctx, now.end = context.WithCancelCause(context.Background())
	}
	if p.leader.Store(now); was != nil {
		was.end(errMoved)
	}
}

// A forwarding is one forwarded request.
type forwarding struct {
	to      *leader
	caller  *auth.Caller // nil if nobody has looked who it is
	instead http.HandlerFunc
	header  http.Header // that is put back for instead
}

type forwardingKey struct{}

// forward forwards a request of a caller who was authenticated here. It implements [api.Forward].
func (p *forwarder) forward(w http.ResponseWriter, r *http.Request, c auth.Caller, instead http.HandlerFunc) {
	p.send(w, r, &forwarding{caller: &c, instead: instead})
}

func (p *forwarder) send(w http.ResponseWriter, r *http.Request, way *forwarding) {
	way.to = p.leader.Load()
	if way.to == nil || r.Header.Get(forwardedHeader) != "" { // it does not go round
		p.without(w, r, way)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(way.to.ctx, func() { cancel(errMoved) })()
	way.header = w.Header().Clone()
	for name := range way.header { // the other node says these
		if name != http.CanonicalHeaderKey(instanceHeader) {
			w.Header().Del(name)
		}
	}
	p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, forwardingKey{}, way)))
}

// without answers a request without the leader.
func (p *forwarder) without(w http.ResponseWriter, r *http.Request, way *forwarding) {
	if way.instead != nil {
		maps.Copy(w.Header(), way.header)
		way.instead(w, r)
		return
	}
	api.NoBrain(w, http.StatusServiceUnavailable, "no node leads at the moment: another one is about to take over", "try again in a few seconds; reads are answered meanwhile")
}

// rewrite says where a request goes, and whose it is.
func (p *forwarder) rewrite(r *httputil.ProxyRequest) {
	way := r.In.Context().Value(forwardingKey{}).(*forwarding)
	r.SetURL(way.to.at)
	r.Out.Host = way.to.at.Host
	h := r.Out.Header
	h.Set(forwardedHeader, "1")
	h.Del(nodeHeader)
	if way.caller == nil {
		r.SetXForwarded()
		return
	}
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "X-Real-Ip", "Via"} { // judged here
		h.Del(name)
	}
	h.Set(nodeHeader, p.token)
	h.Set("X-Forwarded-For", way.caller.From)
	h.Set("X-Forwarded-Proto", "http")
	if way.caller.Secure {
		h.Set("X-Forwarded-Proto", "https")
	}
	if way.caller.Everybody() {
		h.Set("Authorization", "Bearer "+p.token)
	}
}

// failed says that a request was not answered.
func (p *forwarder) failed(w http.ResponseWriter, r *http.Request, err error) {
	way := r.Context().Value(forwardingKey{}).(*forwarding)
	if way.instead != nil {
		p.without(w, r, way)
		return
	}
	p.log.Info("a request could not be forwarded", "to", way.to.Address, "path", r.URL.Path, "err", err)
	if errors.Is(err, errUnknownNode) {
		api.NoBrain(w, http.StatusServiceUnavailable, err.Error()+" yet: it has just started, or could not reach the database for a while", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		api.NoBrain(w, http.StatusServiceUnavailable, "the leader cannot be reached; if it is gone, another one takes over", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	detail := "the leader did not answer"
	if slices.Contains([]string{http.MethodGet, http.MethodHead}, r.Method) {
		api.NoBrain(w, http.StatusServiceUnavailable, detail, "try again in a few seconds")
		return
	}
	api.NoBrain(w, http.StatusBadGateway, detail+"; it is not known whether this was done", "look, or try again with the same Idempotency-Key: it is then done once")
}

// fromNodes takes requests of other nodes as those of their clients, if they really come from
// another node.
func fromNodes(nodes *nodeCache, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get(nodeHeader)
		if token == "" {
			h.ServeHTTP(w, r)
			return
		}
		node := auth.HashOf(token)
		known, err := nodes.knows(r.Context(), node)
		switch {
		case err != nil:
			api.NoBrain(w, http.StatusServiceUnavailable, "the database cannot be read", "try again in a moment")
		case !known:
			w.Header().Set(nodeHeader, "unknown")
			http.Error(w, "no such node", http.StatusForbidden)
		default:
			p := auth.Passing{From: r.Header.Get("X-Forwarded-For"), Secure: r.Header.Get("X-Forwarded-Proto") == "https", Node: node}
			r.Header.Del(nodeHeader)
			h.ServeHTTP(w, auth.Passed(r, p))
		}
	})
}
