package sinks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"freshet/internal/freshet"
)

// Answers are the newest answers of language models on record, so that a question that is asked
// again, after a restart, for another sink or in a replay, has the same answer.
type Answers struct {
	store freshet.StateStore
	mu    sync.Mutex
}

const (
	answerState = "answers" // key of the state
	mostAnswers = 300
)

type answer struct {
	Question string `json:"question"` // its hash
	Text     string `json:"text"`
}

// NewAnswers returns the answers on record in a store.
func NewAnswers(store freshet.StateStore) *Answers { return &Answers{store: store} }

// to returns the answer to a question.
func (a *Answers) to(ctx context.Context, question string) (text string, known bool, err error) {
	if a == nil {
		return "", false, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all, err := a.read(ctx)
	for _, one := range all {
		if one.Question == question {
			return one.Text, true, nil
		}
	}
	return "", false, err
}

// keep records the answer to a question, and forgets the oldest.
func (a *Answers) keep(ctx context.Context, question, text string) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all, err := a.read(ctx)
	if err != nil {
		return err
	}
	all = append(all, answer{question, text})
	value, err := json.Marshal(all[max(0, len(all)-mostAnswers):])
	if err != nil {
		return err
	}
	if err := a.store.SaveState(ctx, []freshet.State{{Key: answerState, Value: value}}); err != nil {
		return fmt.Errorf("record an answer: %w", err)
	}
	return nil
}

func (a *Answers) read(ctx context.Context) (all []answer, err error) {
	state, err := a.store.State(ctx, answerState, "")
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the answers on record: %w", err)
	}
	return all, json.Unmarshal(state.Value, &all)
}
