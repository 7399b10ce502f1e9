package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"freshet/internal/freshet"
	"freshet/internal/sinks/delivery"
)

// Metrics are the program's Prometheus metrics. They are made before the daemon,
// which reports its outcomes to them, and served by the handler.
type Metrics struct {
	registry *prometheus.Registry

	polls           *prometheus.CounterVec
	pollSeconds     *prometheus.HistogramVec
	shared          prometheus.Counter
	requests        prometheus.Counter
	bytes           prometheus.Counter
	versions        prometheus.Counter
	changes         prometheus.Counter
	held            *prometheus.CounterVec
	deliveries      *prometheus.CounterVec
	deliverySeconds *prometheus.HistogramVec
	nodeDeliveries  *prometheus.CounterVec
}

// NewMetrics returns metrics at zero.
func NewMetrics() *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	seconds := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		polls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "freshet_polls_total", Help: "Polls made, by result and, if they failed, by class of failure.",
		}, []string{"result", "failure"}),
		pollSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freshet_poll_seconds", Help: "Time from request to response, by result of the poll.", Buckets: seconds,
		}, []string{"result"}),
		shared:   counter("freshet_shared_polls_total", "Of the polls, those that were read from the poll of another source of the same document, without a request."),
		requests: counter("freshet_requests_total", "HTTP requests made by polls, including redirects."),
		bytes:    counter("freshet_fetched_bytes_total", "Bytes of response bodies received."),
		versions: counter("freshet_captured_versions_total", "Versions captured, including first versions."),
		changes:  counter("freshet_changes_total", "Changes captured."),
		held: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "freshet_held_total", Help: "Polls whose page is suspect and was not reported as a change, by class.",
		}, []string{"class"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "freshet_deliveries_total", Help: "Delivery attempts, by sink and result: delivered, failed or given_up.",
		}, []string{"sink", "result"}),
		deliverySeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freshet_delivery_seconds", Help: "Duration of delivery attempts, by sink.", Buckets: seconds,
		}, []string{"sink"}),
		nodeDeliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "freshet_node_deliveries_total", Help: "Delivery attempts, by the node that made them and result, if there are several nodes. The brain counts them.",
		}, []string{"node", "result"}),
	}
	m.registry.MustRegister(
		m.polls, m.pollSeconds, m.shared, m.requests, m.bytes, m.versions, m.changes, m.held, m.deliveries, m.deliverySeconds, m.nodeDeliveries,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Outcome counts a poll. It fits [daemon.Config.Observe].
func (m *Metrics) Outcome(_ freshet.Source, o freshet.Outcome) {
	m.polls.WithLabelValues(o.Result.String(), string(o.Failure)).Inc()
	if o.Cause == freshet.BySharing {
		m.shared.Inc()
	} else {
		m.pollSeconds.WithLabelValues(o.Result.String()).Observe(o.Ended.Sub(o.Began).Seconds())
	}
	m.requests.Add(float64(o.Requests))
	m.bytes.Add(float64(o.Bytes))
	if o.Result.Captured() {
		m.versions.Inc()
	}
	if o.Result == freshet.Changed {
		m.changes.Inc()
	}
	if o.Result == freshet.Doubted {
		m.held.WithLabelValues(string(o.Suspect)).Inc()
	}
}

// Delivery counts an attempt at a delivery. It fits
// [delivery.FollowerConfig.Observe].
func (m *Metrics) Delivery(d delivery.Delivery) {
	result := "delivered"
	switch {
	case d.GivenUp:
		result = "given_up"
	case d.Err != nil:
		result = "failed"
	}
	m.deliveries.WithLabelValues(d.Sink, result).Inc()
	m.deliverySeconds.WithLabelValues(d.Sink).Observe(d.Took.Seconds())
	if d.Node != "" {
		m.nodeDeliveries.WithLabelValues(d.Node, result).Inc()
	}
}

// handler serves the metrics together with the gauges that features read at the moment.
func (m *Metrics) handler(status *statusAPI, features ...gauger) http.HandlerFunc {
	now := prometheus.NewRegistry()
	now.MustRegister(&collector{status, features})
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, now}, promhttp.HandlerOpts{}).ServeHTTP
}

// A gauger reports gauges as they are at the moment.
type gauger interface {
	gauges(ctx context.Context, set setGauge)
}

// setGauge reports the value of a gauge.
type setGauge func(desc *prometheus.Desc, value float64, labels ...string)

// A collector collects gauges when the metrics are requested.
type collector struct {
	*statusAPI
	features []gauger
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements [prometheus.Collector]. It says nothing, because what
// there is to tell depends on the configuration.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	set := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	st, ready := c.daemon.Status(), 0.0
	if c.ready() == nil {
		ready = 1
	}
	set(gauge("freshet_build_info", "Always 1; the version is a label.", "version"), 1, c.Version)
	set(gauge("freshet_ready", "Whether polls are being made and can be recorded."), ready)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c.clusterGauges(ctx, set)
	if c.follower { // the node that decides tells the rest
		return
	}
	set(gauge("freshet_sources", "Sources watched, paused ones included."), float64(st.Sources))
	set(gauge("freshet_polls_under_way", "Polls at this moment."), float64(st.UnderWay))
	set(gauge("freshet_late_seconds", "How long after its time the scheduler last woke, or for how long polls have waited to be recorded."), st.Late.Seconds())
	set(gauge("freshet_most_late_seconds", "The most of that since the start."), st.MostLate.Seconds())
	set(gauge("freshet_store_wait_seconds", "For how long nothing has been written although something is to be; 0 if nothing is."), st.StoreWait.Seconds())
	if b := c.daemon.Limits().Budget; b.Per > 0 {
		set(gauge("freshet_budget_polls_per_second", "Polls that the budget allows, on average."), b.Polls/b.Per.Seconds())
	}
	levels := c.daemon.Levels()
	set(gauge("freshet_level_sources", "Number of sources with a service level."), float64(levels.Set))
	set(gauge("freshet_level_unmet", "Number of sources whose service level is not expected to be met."), float64(levels.Unmet))
	if c.Size != nil {
		if size, err := c.Size(); err == nil {
			set(gauge("freshet_store_bytes", "Size of the data directory on disk, in bytes."), float64(size))
		}
	}
	if d := st.Disk; d != nil {
		set(gauge("freshet_disk_free_bytes", "Free bytes on the disk of the data directory."), float64(d.Free))
		set(gauge("freshet_disk_reserve_bytes", "Bytes to leave free on that disk: polling stops when less is free."), float64(d.Reserve))
		set(gauge("freshet_store_growth_bytes_per_day", "Growth of the data directory, measured over the last day."), float64(d.Growth))
		if days, ok := d.DaysLeft(); ok {
			set(gauge("freshet_disk_days_left", "Days until the reserve is reached, at the growth of the last day."), days)
		}
	}
	for _, f := range c.features {
		f.gauges(ctx, set)
	}
}
