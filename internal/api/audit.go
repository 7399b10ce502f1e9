package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/freshet"
)

func (a *authAPI) routeAudit() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/api/v1/audit", Tags: []string{"users"},
		Summary: "Read the audit log, newest first",
		Description: "Each request that changed something and each login is an entry. " +
			"Before and after are the fields that differ; secrets are never in them. Entries are kept for a year, and at most a million.",
	}, a.listAudit)
}

type listAuditInput struct {
	Before  int64  `query:"before" minimum:"0" doc:"Only entries before this cursor: the next page"`
	User    string `query:"user" maxLength:"128" doc:"Only entries of this user"`
	Subject string `query:"subject" maxLength:"200" doc:"Only entries about this subject, such as source news"`
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"At most this many entries"`
}

func (a *authAPI) listAudit(ctx context.Context, in *listAuditInput) (*rest.Body[client.AuditPage], error) {
	found, err := a.gate.Store.AuditLog(ctx, auth.AuditQuery{Before: freshet.Cursor(in.Before), Who: in.User, Subject: in.Subject, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	page := client.AuditPage{Items: []client.AuditEntry{}}
	for i, d := range found {
		if i == in.Limit {
			page.Next = int64(found[i-1].Cursor)
			break
		}
		page.Items = append(page.Items, client.AuditEntry{
			Cursor: int64(d.Cursor), At: rest.UTC(d.At), User: d.Who, Via: d.Via, From: d.From, What: d.What, Method: d.Method, Path: d.Path,
			Subject: d.Subject, Status: d.Status, Before: json.RawMessage(d.Before), After: json.RawMessage(d.After),
		})
	}
	return rest.Reply(page), nil
}
