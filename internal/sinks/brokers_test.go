package sinks_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
)

// certified returns a certificate for 127.0.0.1 and who signed it.
func certified() ([]tls.Certificate, *x509.CertPool) {
	s := httptest.NewTLSServer(nil)
	s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s.TLS.Certificates, pool
}

// serveNATS runs a NATS server with JetStream, at a port or any.
func serveNATS(t *testing.T, dir string, port int, with *tls.Config) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, Username: "me", Password: "pass-word", TLSConfig: with, TLSTimeout: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(2 * time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(s.Shutdown)
	return s
}

// sends makes one attempt for each id.
func sends(t *testing.T, o *sinks.Outlet, source freshet.SourceID, ids ...string) (answer string) {
	t.Helper()
	for _, id := range ids {
		var err error
		if answer, err = o.Send(t.Context(), sinks.Message{ID: id, Source: source, Body: []byte(`{"id":"` + id + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return answer
}

// fails makes one attempt and wants it to fail.
func fails(t *testing.T, o *sinks.Outlet, want string) {
	t.Helper()
	_, err := o.Send(t.Context(), sinks.Message{ID: "never", Source: "page", Body: []byte("{}")})
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pass-word") {
		t.Errorf("it fails with %v, want %s", err, want)
	}
}

// A stream has every change once, whatever is sent again, also over a restart of the
// server.
func TestNATS(t *testing.T) {
	dir := t.TempDir()
	s := serveNATS(t, dir, -1, nil)
	port := s.Addr().(*net.TCPAddr).Port
	set := values{"subject": "freshet.{source}", "user": "me", "password": "pass-word"}
	to := sinks.Sink{Name: "nats", URL: profile.Value(s.ClientURL()), Settings: set}
	o := opened(t, to, func(c *sinks.Config) { c.Timeout = 10 * time.Second })
	fails(t, o, "no stream takes the subject")
	conn, err := nats.Connect(s.ClientURL(), nats.UserInfo("me", "pass-word"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "CHANGES", Subjects: []string{"freshet.*"}}); err != nil {
		t.Fatal(err)
	}
	if got := sends(t, o, "page.one", "a", "b"); got != "stream CHANGES, sequence 2" {
		t.Errorf("answered %q", got)
	}
	s.Shutdown()
	s.WaitForShutdown()
	fails(t, o, "connection refused")
	s = serveNATS(t, dir, port, nil)
	if got := sends(t, o, "page.one", "b", "c", "a"); !strings.Contains(got, "had already") {
		t.Errorf("a repeat was answered %q", got)
	}
	again, err := nats.Connect(s.ClientURL(), nats.UserInfo("me", "pass-word"))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if js, err = jetstream.New(again); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "CHANGES")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n := range stream.CachedInfo().State.Msgs {
		m, err := stream.GetMsg(t.Context(), n+1)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Subject+" "+m.Header.Get("Nats-Msg-Id")+" "+string(m.Data))
	}
	want := `freshet.page_one a {"id":"a"}, freshet.page_one b {"id":"b"}, freshet.page_one c {"id":"c"}`
	if strings.Join(got, ", ") != want {
		t.Errorf("the stream has %v, want %s", got, want)
	}
	to.Settings = values{"subject": "freshet.x", "user": "me", "password": "other-word"}
	fails(t, opened(t, to, nil), "uthorization")
	to.Settings = set
	fails(t, opened(t, to, func(c *sinks.Config) { c.Dial = fetch.Config{}.Dialer }), "not a public address")
	if _, err := sinks.Open(config(nil), sinks.Sink{Name: "n", URL: "nats://a.example", Settings: values{"subject": "a.>"}}); err == nil {
		t.Error("a pattern is taken for a subject")
	}
}

// The server is shown a signature, by an nkey or by the credentials of an account.
func TestNATSKeys(t *testing.T) {
	pair := func(make func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public, seed string) {
		key, err := make()
		if err != nil {
			t.Fatal(err)
		}
		public, _ = key.PublicKey()
		text, _ := key.Seed()
		return key, public, string(text)
	}
	operator, trusted, _ := pair(nkeys.CreateOperator)
	account, issuer, _ := pair(nkeys.CreateAccount)
	_, user, seed := pair(nkeys.CreateUser)
	_, _, stranger := pair(nkeys.CreateUser)
	of, err := jwt.NewAccountClaims(issuer).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewUserClaims(user).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(token, []byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(issuer, of); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		options *server.Options
		set     values
		wrong   values
	}{
		"nkey":  {&server.Options{Nkeys: []*server.NkeyUser{{Nkey: user}}}, values{"nkey": profile.Value(seed)}, values{"nkey": profile.Value(stranger)}},
		"creds": {&server.Options{TrustedKeys: []string{trusted}, AccountResolver: resolver}, values{"creds": profile.Value(creds)}, values{"user": "me", "password": "pass-word"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.Host, tt.options.Port, tt.options.NoLog, tt.options.NoSigs = "127.0.0.1", -1, true, true
			s, err := server.NewServer(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			defer s.Shutdown()
			if !s.ReadyForConnections(2 * time.Minute) {
				t.Fatal("the NATS server does not start")
			}
			for _, set := range []values{tt.set, tt.wrong} {
				set["subject"] = "a"
			}
			to := sinks.Sink{Name: "nats", URL: profile.Value(s.ClientURL()), Settings: tt.set}
			fails(t, opened(t, to, nil), "no stream takes the subject") // it has been let in
			to.Settings = tt.wrong
			fails(t, opened(t, to, nil), "uthorization")
		})
	}
	two := sinks.Sink{Name: "nats", URL: "nats://a.example", Settings: values{"subject": "a", "token": "t", "nkey": "SU"}}
	if _, err := sinks.Open(config(nil), two); err == nil || !strings.Contains(err.Error(), "token and nkey") {
		t.Errorf("two ways to log in: %v", err)
	}
	fails(t, opened(t, sinks.Sink{Name: "nats", URL: "nats://127.0.0.1", Settings: values{"subject": "a", "nkey": "SUnothing"}}, nil), "settings.nkey")
}

// A certificate that nobody trusts is no connection.
func TestNATSOverTLS(t *testing.T) {
	certificates, pool := certified()
	s := serveNATS(t, t.TempDir(), -1, &tls.Config{Certificates: certificates})
	to := sinks.Sink{Name: "nats", URL: profile.Value("tls://" + s.Addr().String()), Settings: values{"subject": "a", "user": "me", "password": "pass-word"}}
	fails(t, opened(t, to, trusting(pool)), "no stream takes the subject")
	fails(t, opened(t, to, trusting(x509.NewCertPool())), "certificate")
}

// A topic of Kafka has the changes of a source in one partition, in order.
func TestKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(5, "changes"), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "me", "pass-word"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	to := sinks.Sink{Name: "kafka", URL: profile.Value("kafka://" + cluster.ListenAddrs()[0]), Settings: values{"topic": "changes", "user": "me", "password": "pass-word", "sasl": "scram-sha-256"}}
	o := opened(t, to, func(c *sinks.Config) { c.Timeout = time.Minute })
	if got := sends(t, o, "page", "a", "b", "c"); !strings.HasSuffix(got, "offset 2") {
		t.Errorf("answered %q", got)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("changes"), kgo.SASL(scram.Auth{User: "me", Pass: "pass-word"}.AsSha256Mechanism()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var got []string
	for len(got) < 3 && ctx.Err() == nil {
		reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			got = append(got, fmt.Sprintf("%s %s=%s %s", r.Key, r.Headers[0].Key, r.Headers[0].Value, r.Value))
		})
	}
	if want := `page id=a {"id":"a"}, page id=b {"id":"b"}, page id=c {"id":"c"}`; strings.Join(got, ", ") != want {
		t.Errorf("the topic has %v, want %s", got, want)
	}
	short := func(c *sinks.Config) { c.Timeout = time.Second }
	to.Settings["topic"] = "nothing"
	if _, err := opened(t, to, short).Send(t.Context(), sinks.Message{ID: "a", Body: []byte("{}")}); err == nil {
		t.Error("a topic that is not there takes a message")
	}
	to.Settings["topic"] = "changes"
	closed := opened(t, to, func(c *sinks.Config) { c.Dial, c.Timeout = fetch.Config{}.Dialer, time.Second })
	if _, err := closed.Send(t.Context(), sinks.Message{ID: "a", Body: []byte("{}")}); err == nil {
		t.Error("a broker on loopback was reached although nobody opened it")
	}
}

// An arrivedHook keeps what an MQTT broker is sent.
type arrivedHook struct {
	mqtt.HookBase
	mu          sync.Mutex
	connections int
	came        []string
}

func (h *arrivedHook) ID() string           { return "arrived" }
func (h *arrivedHook) Provides(b byte) bool { return b == mqtt.OnPublish || b == mqtt.OnConnect }
func (h *arrivedHook) OnConnect(*mqtt.Client, packets.Packet) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connections++
	return nil
}
func (h *arrivedHook) look() (connections int, came []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.connections, slices.Clone(h.came)
}
func (h *arrivedHook) OnPublish(_ *mqtt.Client, pk packets.Packet) (packets.Packet, error) { // which is before it is acknowledged
	h.mu.Lock()
	defer h.mu.Unlock()
	h.came = append(h.came, fmt.Sprintf("%s %d %s %s", pk.TopicName, pk.FixedHeader.Qos, pk.Properties.User[0].Val, pk.Payload))
	return pk, nil
}

// serveMQTT runs a broker at an address, and returns where it is.
func serveMQTT(t *testing.T, address string, over []tls.Certificate, arrived *arrivedHook) (at string, stop func()) {
	t.Helper()
	broker := mqtt.New(&mqtt.Options{Logger: slog.New(slog.DiscardHandler)})
	ledger := &auth.Ledger{
		Auth: auth.AuthRules{{Username: "me", Password: "pass-word", Allow: true}},
		ACL:  auth.ACLRules{{Username: "me", Filters: auth.Filters{"freshet/#": auth.ReadWrite, "homeassistant/#": auth.ReadWrite, "closed/#": auth.Deny}}},
	}
	if err := errors.Join(broker.AddHook(new(auth.Hook), &auth.Options{Ledger: ledger}), broker.AddHook(arrived, nil)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	at = l.Addr().String()
	if over != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: over})
	}
	if err := broker.AddListener(listeners.NewNet("a", l)); err != nil {
		t.Fatal(err)
	}
	go broker.Serve()
	stop = sync.OnceFunc(func() { broker.Close() })
	t.Cleanup(stop)
	return at, stop
}

// An MQTT broker acknowledges every change, with TLS too. All come over one connection; that the
// broker was restarted meanwhile costs no attempt.
func TestMQTT(t *testing.T) {
	certificates, pool := certified()
	for scheme, over := range map[string][]tls.Certificate{"mqtt": nil, "mqtts": certificates} {
		t.Run(scheme, func(t *testing.T) {
			arrived := &arrivedHook{}
			address, stop := serveMQTT(t, "127.0.0.1:0", over, arrived)
			to := sinks.Sink{Name: "mqtt", URL: profile.Value(scheme + "://" + address), Settings: values{"topic": "freshet/{source}", "user": "me", "password": "pass-word"}}
			o := opened(t, to, trusting(pool))
			sends(t, o, "page", "a", "b")
			var flying sync.WaitGroup
			for range 8 {
				flying.Go(func() {
					if _, err := o.Send(t.Context(), sinks.Message{ID: "many", Source: "other", Body: []byte("{}")}); err != nil {
						t.Error(err)
					}
				})
			}
			flying.Wait()
			if n, _ := arrived.look(); n != 1 {
				t.Errorf("10 messages took %d connections", n)
			}
			stop()
			_, stop = serveMQTT(t, address, over, arrived)
			sends(t, o, "page", "c")
			_, came := arrived.look()
			came = slices.DeleteFunc(came, func(s string) bool { return s == "freshet/other 1 many {}" })
			if want := `freshet/page 1 a {"id":"a"}, freshet/page 1 b {"id":"b"}, freshet/page 1 c {"id":"c"}`; strings.Join(came, ", ") != want {
				t.Errorf("the broker has %v, want %s", came, want)
			}
			if scheme == "mqtts" {
				fails(t, opened(t, to, trusting(x509.NewCertPool())), "certificate")
			}
			fails(t, opened(t, to, func(c *sinks.Config) {
				c.Dial = fetch.Config{Ports: []uint16{netip.MustParseAddrPort(address).Port()}}.Dialer
			}), "not a public address")
			to.Settings["password"] = "other-word"
			fails(t, opened(t, to, trusting(pool)), "refused the connection")
			to.Settings["password"], to.Settings["topic"] = "pass-word", "closed/topic"
			fails(t, opened(t, to, trusting(pool)), "refused the message")
			stop()
			fails(t, o, "connect")
		})
	}
}
