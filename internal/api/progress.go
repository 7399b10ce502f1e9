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

// progressType is the media type of a response with progress.
const progressType = "application/x-ndjson"

// A progressInput tells whether a client wants progress.
type progressInput struct {
	Accept string `header:"Accept" hidden:"true"`
}

// A progressOutput has a result, or a function that writes progress and then the result.
type progressOutput struct{ Body any }

// withProgress describes the responses of an edit of many sources.
func (a *sourceAPI) withProgress() map[string]*huma.Response {
	return map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: rest.SchemaOf[client.BulkEdited](a.Server)},
		progressType:       {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
}

// withReport makes an edit and, if the client asked for that, streams its progress. The edit ends
// when the client disconnects.
func (a *sourceAPI) withReport(ctx context.Context, in progressInput, edit func(report func(client.BulkEdited)) (client.BulkEdited, error)) (*progressOutput, error) {
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
		write := func(p client.BulkProgress) {
			_ = lines.Encode(p) // a disconnect cancels the context
			_ = control.Flush()
		}
		done, err := edit(func(sofar client.BulkEdited) { write(client.BulkProgress{Progress: &sofar}) })
		if err != nil {
			p := a.Problem(err)
			write(client.BulkProgress{Problem: &p.Problem})
			return
		}
		write(client.BulkProgress{Done: &done})
	}}, nil
}
