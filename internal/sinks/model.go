package sinks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/units"
)

// The settings of any sink that has a language model summarize its messages.
const (
	summaryURL     = "summary_url"
	summaryModel   = "summary_model"
	summaryKey     = "summary_key"
	summaryTimeout = "summary_timeout"
)

var summarySettings = []string{summaryURL, summaryModel, summaryKey, summaryTimeout}

const (
	modelPatience    = 20 * time.Second
	longestPatience  = 2 * time.Minute
	modelRest        = time.Minute // without questions after one that failed
	maxModelResponse = 256 << 10   // bytes
)

// A model answers questions over the chat completions of an API like OpenAI's.
type model struct {
	cfg       Config
	url, name string
	key       profile.Value
	foreign   bool // the sink is not of the configuration file
	patience  time.Duration

	mu     sync.Mutex
	rests  time.Time // until when it is not asked, because it failed
	failed error
}

// modelOf returns the model of a sink, or nil. The error is an *invalid.Error.
func modelOf(cfg Config, s Sink) (*model, error) {
	set := func(name string) bool { return s.Settings[name] != "" }
	if !slices.ContainsFunc(summarySettings, set) {
		return nil, nil
	}
	m := &model{cfg: cfg, name: string(s.Settings[summaryModel]), key: s.Settings[summaryKey], foreign: s.Origin != freshet.FromFile, patience: modelPatience}
	if m.name == "" {
		return nil, invalid.Errorf("settings."+summaryModel, "is missing: name the model at %s", summaryURL)
	}
	to := s.Settings[summaryURL]
	if refs, err := to.References(); err != nil || len(refs) > 0 {
		return nil, invalid.Errorf("settings."+summaryURL, "takes no secrets; put the key into %s", summaryKey)
	}
	checked, err := cfg.CheckURL(string(to))
	if err != nil {
		return nil, invalid.Errorf("settings."+summaryURL, "%q is not the URL of chat completions, such as http://localhost:11434/v1/chat/completions: %v", to, invalid.ReasonOf(err))
	}
	m.url = checked
	if text := string(s.Settings[summaryTimeout]); text != "" {
		if m.patience, err = units.ParseDuration(text); err != nil || m.patience < time.Second || m.patience > longestPatience {
			return nil, invalid.Errorf("settings."+summaryTimeout, "%q is not a time from 1s to 2m", text)
		}
	}
	return m, nil
}

// A question is what a model is asked.
type question struct {
	rules, text string
	tokens      int // of the answer at most
}

// id names the question and the model.
func (q question) id(m *model) string {
	return freshet.HashOf([]byte(strings.Join([]string{m.url, m.name, q.rules, q.text}, "\x00"))).String()
}

// ask returns the answer to a question: that on record, or else what the model says within its
// time. After a failure it is not asked for a while, so that messages do not wait for it one by one.
func (m *model) ask(ctx context.Context, q question) (string, error) {
	text, known, err := m.cfg.Answers.to(ctx, q.id(m))
	if known || err != nil {
		return text, err
	}
	m.mu.Lock()
	resting, failed := m.cfg.Now().Before(m.rests), m.failed
	m.mu.Unlock()
	if resting {
		return "", failed
	}
	limited, cancel := context.WithTimeoutCause(ctx, m.patience, fmt.Errorf("no answer within %s", units.FormatDuration(m.patience)))
	defer cancel()
	if text, err = m.complete(limited, q); err == nil {
		return text, m.cfg.Answers.keep(ctx, q.id(m), text)
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	m.mu.Lock()
	m.rests, m.failed = m.cfg.Now().Add(modelRest), err
	m.mu.Unlock()
	return "", err
}

// complete makes one request.
func (m *model) complete(ctx context.Context, q question) (string, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{
		"model": m.name, "temperature": 0, "max_tokens": q.tokens, "stream": false,
		"messages": []message{{"system", q.rules}, {"user", q.text}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return "", errors.New("the URL cannot be requested")
	}
	req.Header.Set("Content-Type", "application/json")
	key, err := m.secret()
	if err != nil {
		return "", err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := m.cfg.Do(req)
	if err != nil {
		return "", errors.New(filled{secrets: []string{key}}.clean(err.Error()))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxModelResponse+1))
	switch {
	case resp.StatusCode/100 != 2:
		return "", fmt.Errorf("the server answered %d", resp.StatusCode)
	case err != nil:
		return "", errors.New("the answer broke off")
	case len(answer) > maxModelResponse:
		return "", fmt.Errorf("the answer is longer than %d KiB", maxModelResponse>>10)
	}
	var said struct{ Choices []struct{ Message message } }
	if err := json.Unmarshal(answer, &said); err != nil || len(said.Choices) == 0 {
		return "", errors.New("the answer is not a chat completion")
	}
	if text := spoken(said.Choices[0].Message.Content); text != "" {
		return text, nil
	}
	return "", errors.New("the answer is empty")
}

// secret looks up the key, which may go to the host of the model alone.
func (m *model) secret() (string, error) {
	u, err := url.Parse(m.url)
	if err != nil {
		return "", err
	}
	return m.key.Expand(func(r profile.Reference) (string, error) {
		text, err := m.cfg.Secrets.Look(r, strings.ToLower(u.Host), m.foreign)
		if err != nil {
			return "", fmt.Errorf("settings.%s: %s: %w", summaryKey, r, err)
		}
		return text, nil
	})
}
