package app_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// A crew is nodes on one database.
type crew struct {
	*testing.T
	at   string // of the database
	conn *pgx.Conn

	grace   time.Duration // of nodes to come to an end; 0 means as in a Config
	secrets string        // directory of the key that all nodes share; "" means that each has its own

	client *http.Client
}

// crewLease is that of a crew. Nobody is lost who only is slow.
const crewLease = 5 * time.Second

func newCrew(t *testing.T) *crew { return crewAt(t, pgtest.Start(t, "fsync=on")) }

// crewAt returns a crew with a database of its own.
func crewAt(t *testing.T, server *pgtest.Server) *crew {
	t.Parallel()
	name := server.Database(t)
	return &crew{T: t, at: server.URL(name), conn: server.Connect(t, name), secrets: t.TempDir(), client: fetch.Trusted(time.Minute)}
}

// A member is one node of a crew.
type member struct {
	url, data string
	log       *lockedBuffer
	end       func()
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// settings returns those of a node with a directory of its own.
func (c *crew) settings() config.Settings {
	s := settings(c.T)
	s.Store, s.Cluster.Lease, s.API.Listen, s.Secrets = c.at, crewLease, "127.0.0.1:0", c.secrets
	return s
}

// serve starts a node and returns when it answers.
func (c *crew) serve() *member {
	c.Helper()
	return c.serveWith(c.settings())
}

// serveWith is serve with other settings.
func (c *crew) serveWith(s config.Settings) *member {
	c.Helper()
	m := &member{data: s.Data, log: &lockedBuffer{}}
	ctx, cancel := context.WithCancel(context.Background())
	there, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- app.Serve(ctx, s, app.ServeConfig{
			Load: func() (config.Settings, error) { return s, nil }, Log: slog.New(slog.NewTextHandler(m.log, nil)),
			Announce: func(url string) error { there <- url; return nil }, Grace: c.grace,
		})
	}()
	m.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			c.Errorf("a node ends with %v", err)
		}
	})
	c.Cleanup(m.end)
	c.Cleanup(func() {
		if c.Failed() {
			c.Logf("%s said:\n%s", m.url, m.log)
		}
	})
	select {
	case m.url = <-there:
	case err := <-ended:
		ended <- err
		c.Fatalf("a node does not start: %v\n%s", err, m.log)
	}
	return m
}

// ask sends a request with a token, if there is one, and returns the answer.
func (c *crew) ask(token, method, url, body string, headers ...string) (*http.Response, string) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.client.Do(req)
	if err != nil { // a node that changes its role may cut a request off
		return &http.Response{}, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

// wants sends a request and wants a status. Like any client it tries again while no node leads.
func (c *crew) wants(status int, token, method, url, body string, headers ...string) (resp *http.Response, text string) {
	c.Helper()
	kit.Until(c.T, method+" "+url, func() bool {
		resp, text = c.ask(token, method, url, body, headers...)
		if resp.StatusCode == 0 && method == http.MethodGet { // cut off by a node that changes its role
			return false
		}
		return resp.StatusCode == status || resp.StatusCode != http.StatusServiceUnavailable
	})
	if resp.StatusCode != status {
		c.Fatalf("%s %s gives %d %s, want %d", method, url, resp.StatusCode, text, status)
	}
	return resp, text
}

// leads waits until a node decides, as another says.
func (c *crew) leads(m *member, says *member, token string) {
	c.Helper()
	kit.Until(c.T, m.url+" decides", func() bool {
		resp, text := c.ask(token, http.MethodGet, says.url+"/api/v1/cluster", "")
		return resp.StatusCode == http.StatusOK && strings.Contains(text, `"brain":{"address":"`+m.url+`"`)
	})
}

// A standby passes on who asks, and believes nobody that it is another node.
func TestStandbyPassesOnWhoAsks(t *testing.T) {
	c := newCrew(t)
	leader, standby := c.serve(), c.serve()
	api := standby.url + "/api/v1"
	c.wants(http.StatusCreated, "", "POST", api+"/sources", `{"id":"a","url":"http://127.0.0.1:1/"}`) // nobody has to log in yet
	c.wants(http.StatusOK, "", "GET", api+"/sources/a", "")
	c.wants(http.StatusCreated, "", "POST", api+"/users", `{"name":"ann","role":"admin","password":"correct horse"}`)
	c.wants(http.StatusUnauthorized, "", "GET", api+"/sources/a", "") // from now on they have to, here too
	c.wants(http.StatusUnauthorized, "", "POST", api+"/sources", `{"url":"http://127.0.0.1:2/"}`)
	resp, _ := c.wants(http.StatusOK, "", "POST", api+"/session", `{"user":"ann","password":"correct horse"}`)
	cookie := resp.Header.Get("Set-Cookie")
	if strings.Count(fmt.Sprint(resp.Header.Values("Cache-Control")), "no-store") != 1 || cookie == "" {
		t.Errorf("the answer to a login has the headers %v", resp.Header)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	for _, m := range []*member{leader, standby} {
		c.wants(http.StatusOK, "", "GET", m.url+"/api/v1/users", "", "Cookie", cookie)
	}
	c.wants(http.StatusCreated, "", "POST", api+"/sources", `{"id":"b","url":"http://127.0.0.1:2/"}`, "Cookie", cookie, "Origin", standby.url)
	c.wants(http.StatusForbidden, "", "POST", api+"/sources", `{"id":"c","url":"http://127.0.0.1:3/"}`, "Cookie", cookie, "Origin", "http://evil.example")
	_, made := c.wants(http.StatusCreated, "", "POST", api+"/tokens", `{"name":"reader","scopes":["read"]}`, "Cookie", cookie)
	_, secret, _ := strings.Cut(made, `"secret":"`)
	secret, _, _ = strings.Cut(secret, `"`)
	_, id, _ := strings.Cut(made, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	c.wants(http.StatusOK, secret, "GET", api+"/sources/b", "")
	c.wants(http.StatusOK, secret, "GET", api+"/numbers", "")
	c.wants(http.StatusForbidden, secret, "POST", api+"/sources", `{"url":"http://127.0.0.1:3/"}`)

	own, err := app.ReadAddress(standby.data) // as commands on that machine do
	if err != nil {
		t.Fatal(err)
	}
	c.wants(http.StatusOK, own.Token, "PATCH", api+"/sources/b", `{"name":"by hand"}`)
	for _, token := range []string{own.Token, own.Token + "x"} { // it is good at its own node alone
		c.wants(http.StatusUnauthorized, token, "PATCH", leader.url+"/api/v1/sources/b", `{"name":"forged"}`)
	}
	c.wants(http.StatusForbidden, "", "GET", leader.url+"/api/v1/sources", "", "Freshet-Node", own.Token, "X-Forwarded-For", "10.0.0.9", "Freshet-Caller", "data directory")
	resp, _ = c.wants(http.StatusServiceUnavailable, own.Token, "PATCH", api+"/sources/b", `{"name":"round and round"}`, "Freshet-Passed", "1")
	if resp.Header.Get("Retry-After") == "" {
		t.Error("a request that goes round is refused without when to try again")
	}
	if _, text := c.wants(http.StatusOK, own.Token, "GET", api+"/sources/b", ""); !strings.Contains(text, `"by hand"`) {
		t.Errorf("the source is %s", text)
	}

	stream := make(chan error, 1)
	go func() {
		reach := func(req *http.Request) (*http.Response, error) {
			req.Header.Set("Authorization", "Bearer "+secret)
			return fetch.Trusted(time.Minute).Do(req)
		}
		for _, err := range client.New(standby.url, reach).Stream(t.Context(), freshet.Place{}, client.ChangeFilter{}) {
			if err != nil {
				stream <- err
				return
			}
		}
		stream <- nil
	}()
	c.wants(http.StatusNoContent, own.Token, "DELETE", api+"/tokens/"+id, "")
	<-stream // of whoever was let in before
	c.wants(http.StatusUnauthorized, secret, "GET", api+"/sources/b", "")
}

// A node that is taken for dead stands by again. The one that took over has what was set at run
// time.
func TestNodeThatWasTakenForDeadStandsBy(t *testing.T) {
	c := newCrew(t)
	first, second := c.serve(), c.serve()
	c.leads(first, second, "")
	c.wants(http.StatusOK, "", "PATCH", second.url+"/api/v1/settings", `{"set":{"budget":"7/s"}}`)
	for taken := false; !taken; { // it gives signs of life meanwhile
		if _, err := c.conn.Exec(t.Context(), "UPDATE leases SET renewed = clock_timestamp() - interval '1 hour' WHERE address = $1", first.url); err != nil {
			t.Fatal(err)
		}
		_, text := c.ask("", http.MethodGet, second.url+"/api/v1/cluster", "")
		taken = strings.Contains(text, `"brain":{"address":"`+second.url+`"`)
	}
	kit.Until(t, "the first stands by", func() bool {
		resp, text := c.ask("", http.MethodGet, first.url+"/metrics", "")
		return resp.StatusCode == http.StatusOK && strings.Contains(text, "freshet_cluster_brain 0\n")
	})
	kit.Until(t, "the first passes on", func() bool {
		resp, text := c.ask("", http.MethodGet, first.url+"/api/v1/settings", "")
		return resp.StatusCode == http.StatusOK && strings.Contains(text, `"value":"7/s"`)
	})
	c.wants(http.StatusCreated, "", "POST", first.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:1/"}`)
	second.end() // and now by itself
	c.leads(first, first, "")
	if _, text := c.wants(http.StatusOK, "", "GET", first.url+"/api/v1/sources", ""); !strings.Contains(text, `"id":"a"`) {
		t.Errorf("the sources are %s", text)
	}
}

// The key is there as soon as a node leads. A node that has another, or none, says so: it is neither warm nor
// ready, and does not take over until it has the key.
func TestNodeWithAnotherKeyDoesNotTakeOver(t *testing.T) {
	c := newCrew(t)
	c.secrets = ""
	first := c.serve()
	key, err := os.ReadFile(filepath.Join(first.data, "secret.key"))
	if err != nil {
		t.Fatalf("the first node of an empty store has no key: %v", err)
	}
	s := c.settings()
	if err := os.WriteFile(filepath.Join(s.Data, "secret.key"), []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	second, third := c.serve(), c.serveWith(s)
	c.wants(http.StatusCreated, "", "POST", second.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:1/"}`)
	for _, m := range []*member{second, third} {
		kit.Until(t, "the node says that it is not ready", func() bool {
			resp, text := c.ask("", "GET", m.url+"/readyz", "")
			return resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(text, "this node lacks the secret.key of the other nodes")
		})
		kit.Until(t, "the node says that it is not warm", func() bool {
			_, text := c.ask("", "GET", m.url+"/metrics", "")
			return strings.Contains(text, "freshet_cluster_warm 0\n") && strings.Contains(text, "freshet_ready 0\n")
		})
		kit.Until(t, "all are told that the node is unable", func() bool {
			_, text := c.ask("", "GET", first.url+"/api/v1/cluster", "")
			return strings.Count(text, `"standby":"unable","why":"this node lacks the secret.key of the other nodes`) == 2 && strings.Contains(text, `"hint":"copy secret.key from`)
		})
		kit.Until(t, "the node logs it", func() bool { return strings.Contains(m.log.String(), "this node cannot decrypt") })
	}
	first.end()
	kit.Until(t, "the second says that it cannot take over", func() bool { return strings.Contains(second.log.String(), "this node cannot take over") })
	if told := strings.Count(second.log.String(), "this node cannot decrypt"); told != 1 {
		t.Errorf("the second says %d times that it lacks the key", told)
	}
	resp, _ := c.wants(http.StatusServiceUnavailable, "", "POST", second.url+"/api/v1/sources", `{"url":"http://127.0.0.1:2/"}`)
	if resp.Header.Get("Retry-After") == "" {
		t.Error("without a node that decides nobody is told when to try again")
	}
	c.wants(http.StatusOK, "", "GET", second.url+"/api/v1/sources/a", "")
	if err := os.WriteFile(filepath.Join(second.data, "secret.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	c.leads(second, second, "")
	if err := os.WriteFile(filepath.Join(third.data, "secret.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "the third is ready and warm", func() bool {
		ready, _ := c.ask("", "GET", third.url+"/readyz", "")
		_, text := c.ask("", "GET", third.url+"/metrics", "")
		return ready.StatusCode == http.StatusOK && strings.Contains(text, "freshet_cluster_warm 1\n")
	})
}

// A tellingConn tells when it is closed.
type tellingConn struct {
	net.Conn
	closed chan<- struct{}
}

// Close implements [net.Conn].
func (c tellingConn) Close() error {
	c.closed <- struct{}{}
	return c.Conn.Close()
}

// A node that is not sure any more that it decides sends nothing, nor does a worker that works for
// it, although the poll is on record: another may have taken over, and may poll by now. When it is sure
// again the poll goes on, and has not failed.
func TestNothingIsSentWithoutTheLease(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	for _, by := range []string{"the node", "a hand"} {
		t.Run(by, func(t *testing.T) {
			c := crewAt(t, server)
			var asked atomic.Int32
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				fmt.Fprint(w, "here")
			}))
			defer page.Close()
			dialled, release, closed := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 100)
			s := c.settings()
			s.Limits.Hosts.CrawlDelay = 0
			s.Fetch.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				select {
				case dialled <- struct{}{}:
				default:
				}
				<-release // a machine that is stopped here
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
				return tellingConn{conn, closed}, err
			}
			store := c.poll(s, by == "a hand", page.URL)
			<-dialled
			held, err := c.conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := held.Exec(t.Context(), "SELECT 1 FROM leases FOR UPDATE"); err != nil { // it cannot be renewed
				t.Fatal(err)
			}
			kit.Until(t, "the right ends", func() bool { return store.LeaseLeft() <= 0 })
			close(release)
			kit.Until(t, "the connection is closed", func() bool { return len(closed) > 0 || asked.Load() > 0 })
			if asked.Load() > 0 {
				t.Error("a request was sent without the lease")
			}
			if err := held.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if o := firstPoll(t, store); o.Result != freshet.First || o.Requests != 1 {
				t.Errorf("the poll ended as %s %s after %d requests: %s", o.Result, o.Failure, o.Requests, o.Err)
			}
		})
	}
}

// poll runs a daemon with a source until the test is over, and returns its store. Its polls are made by a
// worker, if that is wanted.
func (c *crew) poll(s config.Settings, elsewhere bool, url string) *postgres.Store {
	at := "http://127.0.0.1:1"
	cfg := app.Config{Settings: s, Address: at}
	if elsewhere {
		cfg.Cluster.TokenFile, cfg.Cluster.OwnSlots = workerToken(c.T), 0
	}
	n, err := app.Open(c.Context(), cfg)
	if err != nil {
		c.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended, err := n.Start(ctx)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			c.Error(err)
		}
	})
	if elsewhere {
		door := httptest.NewServer(n.WithWorkers(http.NotFoundHandler()))
		c.Cleanup(door.Close)
		working, leave := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() {
			left <- app.RunWorker(working, s, app.WorkerConfig{Join: []string{door.URL}, Token: "0123456789abcdef", Name: "far", Slots: 1}, slog.New(slog.DiscardHandler))
		}()
		c.Cleanup(func() { leave(); <-left })
	}
	if _, err := n.Daemon.AddSource(c.Context(), freshet.Source{ID: "a", URL: url}); err != nil {
		c.Fatal(err)
	}
	return n.Store.(*postgres.Store)
}

// The leader is stopped while a client takes long to send its request. Another node leads before the client is
// done. A client has ten seconds, in which a busy machine may not get that far, so there are some tries.
func TestAStoppedLeaderDoesNotWaitForClients(t *testing.T) {
	c := newCrew(t)
	c.grace = 30 * time.Minute
	leader := c.serve()
	for range 5 {
		next := c.serve()
		c.leads(leader, next, "")
		if c.leadsWhileAClientWaits(leader, next) {
			return
		}
		leader = next
	}
	t.Error("no node led before the one before it had ended")
}

// leadsWhileAClientWaits stops the leader and reports whether the next one led before it had ended.
func (c *crew) leadsWhileAClientWaits(leader, next *member) bool {
	c.Helper()
	slow, err := net.Dial("tcp", strings.TrimPrefix(leader.url, "http://"))
	if err != nil {
		c.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(slow, "POST /api/v1/sources HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "100") { // its handler reads
		c.Fatalf("the leader answers %q, %v", line, err)
	}
	ended := make(chan struct{})
	go func() { leader.end(); close(ended) }()
	kit.Until(c.T, "the next one leads", func() bool { return strings.Contains(next.log.String(), "this node leads") })
	select {
	case <-ended:
		return false
	default:
	}
	slow.Close()
	<-ended
	return true
}
