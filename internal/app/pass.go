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

// What a node says of a request that it passes on to the one that decides. Only a node on the
// same database has the token.
const (
	passedHeader = "Freshet-Passed"     // it was passed on, and is not to be again
	nodeHeader   = delivery.TokenHeader // the token of the node, for what the other headers say
)

// passPatience is how long the node that decides may take to begin an answer.
const passPatience = 2 * time.Minute

// A passer passes requests on to the node that decides.
type passer struct {
	token  string // of this node
	leader atomic.Pointer[leader]
	proxy  *httputil.ReverseProxy
	log    *slog.Logger
}

// A leader is the node that decides, for as long as it does.
type leader struct {
	postgres.Lease
	at  *url.URL
	ctx context.Context // of the requests that are passed on to it
	end context.CancelCauseFunc
}

var errMoved = errors.New("another node decides now")

func newPasser(token string, log *slog.Logger) *passer {
	p := &passer{token: token, log: log}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: fetch.Trusted(passPatience).Transport, FlushInterval: -1,
		ErrorHandler: p.failed, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: arrived,
	}
	return p
}

// errStranger says that the node that decides has not heard of this one, or not for a while. It
// has then done nothing.
var errStranger = errors.New("the node that decides does not know this one")

// arrived looks at the answer of the node that decides.
func arrived(r *http.Response) error {
	r.Header.Del(instanceHeader)
	if r.StatusCode == http.StatusForbidden && r.Header.Get(nodeHeader) != "" {
		return errStranger
	}
	return nil
}

// follow takes note of who decides; requests to one that does not any more are ended.
func (p *passer) follow(l postgres.Lease) {
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

// A passage is one request on its way.
type passage struct {
	to      *leader
	caller  *auth.Caller // nil if nobody has looked who it is
	instead http.HandlerFunc
	header  http.Header // that is put back for instead
}

type passageKey struct{}

// pass passes a request on, for somebody who was let in here. It implements [api.Forward].
func (p *passer) pass(w http.ResponseWriter, r *http.Request, c auth.Caller, instead http.HandlerFunc) {
	p.send(w, r, &passage{caller: &c, instead: instead})
}

func (p *passer) send(w http.ResponseWriter, r *http.Request, way *passage) {
	way.to = p.leader.Load()
	if way.to == nil || r.Header.Get(passedHeader) != "" { // it does not go round
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
	p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, passageKey{}, way)))
}

// without answers a request without the node that decides.
func (p *passer) without(w http.ResponseWriter, r *http.Request, way *passage) {
	if way.instead != nil {
		maps.Copy(w.Header(), way.header)
		way.instead(w, r)
		return
	}
	api.NoBrain(w, http.StatusServiceUnavailable, "no node decides at the moment: another one is about to take over", "try again in a few seconds; reads are answered meanwhile")
}

// rewrite says where a request goes, and whose it is.
func (p *passer) rewrite(r *httputil.ProxyRequest) {
	way := r.In.Context().Value(passageKey{}).(*passage)
	r.SetURL(way.to.at)
	r.Out.Host = way.to.at.Host
	h := r.Out.Header
	h.Set(passedHeader, "1")
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
func (p *passer) failed(w http.ResponseWriter, r *http.Request, err error) {
	way := r.Context().Value(passageKey{}).(*passage)
	if way.instead != nil {
		p.without(w, r, way)
		return
	}
	p.log.Info("a request could not be passed on", "to", way.to.Address, "path", r.URL.Path, "err", err)
	if errors.Is(err, errStranger) {
		api.NoBrain(w, http.StatusServiceUnavailable, err.Error()+" yet: it has just started, or could not reach the database for a while", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		api.NoBrain(w, http.StatusServiceUnavailable, "the node that decides cannot be reached; if it is gone, another one takes over", "try again in a few seconds; reads are answered meanwhile")
		return
	}
	detail := "the node that decides did not answer"
	if slices.Contains([]string{http.MethodGet, http.MethodHead}, r.Method) {
		api.NoBrain(w, http.StatusServiceUnavailable, detail, "try again in a few seconds")
		return
	}
	api.NoBrain(w, http.StatusBadGateway, detail+"; it is not known whether this was done", "look, or try again with the same Idempotency-Key: it is then done once")
}

// fromNodes takes requests of other nodes as those of their clients, if they really come from
// another node.
func fromNodes(nodes *knownNodes, h http.Handler) http.Handler {
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
