package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
)

// progressType is the media type of a response that tells how far an edit is.
const progressType = "application/x-ndjson"

// A progressInput says whether a client wants to know how far an edit is.
type progressInput struct {
	Accept string `header:"Accept" hidden:"true"`
}

// A progressOutput is a result, or a function that writes how far an edit is and then its result.
type progressOutput struct{ Body any }

// withProgress describes the responses of an edit of many sources.
func (a *sourceAPI) withProgress() map[string]*huma.Response {
	return map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: rest.SchemaOf[client.BulkEdited](a.Server)},
		progressType:       {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
}

// reporting makes an edit, and tells the client how far it is if the client asked for that. The
// edit ends when the client goes.
func (a *sourceAPI) reporting(ctx context.Context, in progressInput, edit func(report func(client.BulkEdited)) (client.BulkEdited, error)) (*progressOutput, error) {
	if !strings.Contains(in.Accept, progressType) {
		done, err := edit(func(client.BulkEdited) {})
		if err != nil {
			return nil, err
		}
		return &progressOutput{done}, nil
	}
	return &progressOutput{func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", progressType)
		w.WriteHeader(http.StatusOK)
		lines, control := json.NewEncoder(w), http.NewResponseController(w)
		say := func(p client.BulkProgress) {
			_ = lines.Encode(p) // a client that is gone ends the context
			_ = control.Flush()
		}
		done, err := edit(func(sofar client.BulkEdited) { say(client.BulkProgress{Progress: &sofar}) })
		if err != nil {
			p := a.Problem(err)
			say(client.BulkProgress{Problem: &p.Problem})
			return
		}
		say(client.BulkProgress{Done: &done})
	}}, nil
}
