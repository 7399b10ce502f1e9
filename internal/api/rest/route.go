package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
)

// maxBody is the largest request body.
const maxBody = 1 << 20

// A Body is a request or a response that is one JSON value.
type Body[T any] struct{ Body T }

// Reply returns a response that is one JSON value.
func Reply[T any](v T) *Body[T] { return &Body[T]{v} }

// A StreamBody is a response that writes itself.
type StreamBody struct {
	Body func(http.ResponseWriter, *http.Request)
}

// A queryChecker is an input that checks its query beyond the schemas of its fields.
type queryChecker interface {
	CheckQuery(url.Values) []*client.ErrorDetail
}

// Route adds an operation. I is a struct of parameters, with the tags path, query and header,
// and of a field Body; O is one of headers and the fields Status and Body. An error that the
// handler returns is answered as a Problem, and logged if it is ours.
//
// Only this shim is generic: [huma.Register] is compiled once for every operation, which
// makes the program 5 MB larger.
func Route[I, O any](s *Server, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	s.route(&op, reflect.TypeFor[I](), reflect.TypeFor[O](), func(ctx context.Context, in any) (any, error) {
		out, err := handler(ctx, in.(*I))
		if out == nil {
			return nil, err
		}
		return out, err
	})
}

// An operation reads requests, calls a handler and writes its answers.
type operation struct {
	*Server
	*huma.Operation
	input   reflect.Type
	params  []param
	body    []int        // index of the field; nil if there is none
	schema  *huma.Schema // of the body
	headers []field      // of the answer
	status  []int
	content []int
	call    func(context.Context, any) (any, error)
}

// A field of an input or an output that is sent as text.
type field struct {
	name  string
	index []int
}

// A param is a parameter of a request.
type param struct {
	field
	in       string // path, query or header
	initial  string
	required bool
	explode  bool // it can be repeated
	schema   *huma.Schema
}

func (s *Server) route(op *huma.Operation, input, output reflect.Type, call func(context.Context, any) (any, error)) {
	pattern := op.Method + " " + op.Path
	op.Description = cmp.Or(op.Description, s.Descriptions[op.OperationID])
	op.Security = securityOf(s.Rule(pattern))
	s.operations[pattern] = op.OperationID
	if writes(op.Method) && !s.Rule(pattern).Secret {
		most := maxKey
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most},
			Description: "A unique key of this request, such as a UUID. A retry with the same key within 24 hours is not executed again and gets the first response. A different request with the key is refused with 422, and a retry while the first request is running with 409. After a crash a retry is executed if the first request was not.",
			Example:     "8e03978e-40d5-43dd-bc93-6894a57f9324",
		})
	}
	problems := map[string]*huma.MediaType{"application/problem+json": {Schema: SchemaOf[Problem](s)}}
	responses := map[string]*huma.Response{
		"4XX":     {Description: "The request is invalid or refused", Content: problems},
		"default": {Description: "The request failed", Content: problems},
	}
	maps.Copy(responses, op.Responses)
	op.Responses = responses
	o := &operation{Server: s, Operation: op, input: input, call: call}
	o.addParams(input, nil)
	o.addBody()
	o.addOutput(output)
	s.success[pattern] = op.DefaultStatus
	s.OpenAPI().AddOperation(op)
	s.HandleFunc(pattern, o.serve)
}

// addParams finds the parameters of an input, and describes them.
func (o *operation) addParams(t reflect.Type, path []int) {
	for f := range t.Fields() {
		index := append(slices.Clone(path), f.Index...)
		if f.Anonymous {
			o.addParams(f.Type, index)
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name, option, _ := strings.Cut(f.Tag.Get(in), ",")
			if name == "" {
				continue
			}
			p := param{
				field: field{name, index}, in: in, initial: f.Tag.Get("default"), required: in == "path" || f.Tag.Get("required") == "true",
				explode: option == "explode", schema: huma.SchemaFromField(o.schemas(), f, ""),
			}
			o.params = append(o.params, p)
			if f.Tag.Get("hidden") == "true" {
				continue
			}
			described := &huma.Param{Name: name, In: in, Description: p.schema.Description, Required: p.required, Schema: p.schema}
			if in == "query" {
				described.Explode = &p.explode
			}
			o.Parameters = append(o.Parameters, described)
		}
	}
}

func (o *operation) schemas() huma.Registry { return o.OpenAPI().Components.Schemas }

// addBody describes the body of requests, if they have one.
func (o *operation) addBody() {
	f, ok := o.input.FieldByName("Body")
	if !ok {
		return
	}
	o.body, o.schema = f.Index, huma.SchemaFromField(o.schemas(), f, cmp.Or(o.input.Name(), o.OperationID+"Request"))
	o.schema.PrecomputeMessages()
	o.RequestBody = &huma.RequestBody{
		Required: f.Type.Kind() != reflect.Pointer,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: o.schema}},
	}
}

// addOutput finds the parts of an output, and describes them.
func (o *operation) addOutput(t reflect.Type) {
	content, hasContent := t.FieldByName("Body")
	if o.DefaultStatus == 0 {
		o.DefaultStatus = http.StatusNoContent
		if hasContent {
			o.DefaultStatus = http.StatusOK
		}
	}
	status := strconv.Itoa(o.DefaultStatus)
	answer := o.Responses[status]
	if answer == nil {
		answer = &huma.Response{}
		o.Responses[status] = answer
	}
	answer.Description = cmp.Or(answer.Description, http.StatusText(o.DefaultStatus))
	if hasContent {
		o.content = content.Index
	}
	if hasContent && content.Type.Kind() != reflect.Func {
		schema := huma.SchemaFromField(o.schemas(), content, cmp.Or(t.Name(), o.OperationID+"Response"))
		if len(answer.Content) == 0 {
			answer.Content = map[string]*huma.MediaType{"application/json": {}}
		}
		if media := answer.Content["application/json"]; media != nil && media.Schema == nil {
			media.Schema = schema
		}
	}
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("header")
		if f.Name == "Status" {
			o.status = f.Index
		}
		if name == "" {
			continue
		}
		o.headers = append(o.headers, field{name, f.Index})
		if reflect.PointerTo(f.Type).Implements(reflect.TypeFor[fmt.Stringer]()) {
			f.Type = reflect.TypeFor[string]()
		}
		if answer.Headers == nil {
			answer.Headers = map[string]*huma.Param{}
		}
		answer.Headers[name] = &huma.Param{Schema: huma.SchemaFromField(o.schemas(), f, "")}
	}
}

// serve answers a request.
func (o *operation) serve(w http.ResponseWriter, r *http.Request) {
	in := reflect.New(o.input)
	if p := o.read(in, r); p != nil {
		p.Write(w)
		return
	}
	out, err := o.call(r.Context(), in.Interface())
	if err != nil {
		p := o.problemOf(err)
		if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
			o.Log.Error("request failed", "operation", o.OperationID, "err", err, "hint", p.Hint)
		}
		p.Write(w)
		return
	}
	o.write(w, r, out)
}

// read reads the input from a request. It returns nil if all of it is valid.
func (o *operation) read(in reflect.Value, r *http.Request) *Problem {
	p := NewProblem(http.StatusUnprocessableEntity, "validation failed")
	query := r.URL.Query()
	if p.Errors = o.unknown(query); p.Errors != nil {
		return p
	}
	valid := &huma.ValidateResult{}
	for _, param := range o.params {
		o.readParam(param, in.Elem().FieldByIndex(param.index), query, r, valid)
	}
	if o.body != nil {
		body, problem := readBody(r)
		if problem == nil && len(body) == 0 && o.RequestBody.Required {
			problem = NewProblem(http.StatusBadRequest, "request body is required")
		}
		if problem != nil {
			return problem
		}
		if len(body) > 0 {
			p.Status = o.decode(body, in.Elem().FieldByIndex(o.body), r.Header.Get("Content-Type"), valid)
		}
	}
	for _, err := range valid.Errors {
		d := err.(*huma.ErrorDetail) // as ValidateResult makes them
		p.Errors = append(p.Errors, &client.ErrorDetail{Location: d.Location, Message: d.Message, Value: d.Value})
	}
	if c, ok := in.Interface().(queryChecker); ok {
		p.Errors = append(p.Errors, c.CheckQuery(query)...)
	}
	if p.Errors == nil {
		return nil
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// unknown returns the errors of query parameters that the operation does not have.
func (o *operation) unknown(query url.Values) (errs []*client.ErrorDetail) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.ContainsFunc(o.params, func(p param) bool { return p.in == "query" && p.name == name }) {
			errs = append(errs, &client.ErrorDetail{Location: "query." + name, Message: "unknown query parameter", Value: ""})
		}
	}
	return errs
}

func (o *operation) readParam(p param, f reflect.Value, query url.Values, r *http.Request, valid *huma.ValidateResult) {
	var text string
	switch p.in {
	case "path":
		text = r.PathValue(p.name)
	case "query":
		text = query.Get(p.name)
	case "header":
		text = r.Header.Get(p.name)
	}
	path := huma.NewPathBuffer(nil, 0)
	path.Push(p.in)
	path.Push(p.name)
	text = cmp.Or(text, p.initial)
	if text == "" {
		if p.required {
			valid.Add(path, "", "required "+p.in+" parameter is missing")
		}
		return
	}
	parts := strings.Split(text, ",")
	if p.explode {
		parts = query[p.name]
	}
	v, err := setText(f, text, parts)
	if err != nil {
		valid.Add(path, text, err.Error())
		return
	}
	huma.Validate(o.schemas(), p.schema, path, huma.ModeWriteToServer, v, valid)
}

// setText sets a field to what a text says, or its parts if it is a list, and returns its
// value as schemas validate it.
func setText(f reflect.Value, text string, parts []string) (any, error) {
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
		return text, nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errors.New("invalid integer")
		}
		f.SetInt(n)
		return n, nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errors.New("invalid float")
		}
		f.SetFloat(x)
		return x, nil
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("invalid boolean")
		}
		f.SetBool(b)
		return b, nil
	case reflect.Slice: // of strings
		f.Set(reflect.ValueOf(parts).Convert(f.Type()))
		return parts, nil
	}
	if f.Type() == reflect.TypeFor[time.Time]() {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return nil, errors.New("invalid date/time for format " + time.RFC3339Nano)
		}
		f.Set(reflect.ValueOf(at))
		return text, nil
	}
	panic("a parameter cannot be a " + f.Type().String())
}

func readBody(r *http.Request) ([]byte, *Problem) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if len(body) == maxBody {
		return nil, NewProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("request body is too large limit=%d bytes", maxBody))
	}
	if err == nil {
		return body, nil
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return nil, NewProblem(http.StatusRequestTimeout, "request body read timeout")
	}
	p := NewProblem(http.StatusBadRequest, "cannot read request body")
	p.Errors = []*client.ErrorDetail{{Message: err.Error()}}
	return nil, p
}

// decode reads a body into a field, and returns the status of its errors. One that is an
// Object is decoded once, for its schema and for its handler.
func (o *operation) decode(body []byte, f reflect.Value, contentType string, valid *huma.ValidateResult) int {
	path := huma.NewPathBuffer(nil, 0)
	path.Push("body")
	refuse := func(status int, err error) int {
		valid.Add(path, string(body), err.Error())
		return status
	}
	if !isJSON(contentType) {
		return refuse(http.StatusUnsupportedMediaType, fmt.Errorf("unknown content type: %s", contentType))
	}
	var parsed any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err := d.Decode(&parsed)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = json.Unmarshal(body, &parsed) // says what comes after the value
		}
	}
	if err != nil {
		return refuse(http.StatusBadRequest, err)
	}
	before := len(valid.Errors)
	huma.Validate(o.schemas(), o.schema, path, huma.ModeWriteToServer, parsed, valid)
	if len(valid.Errors) > before {
		return http.StatusUnprocessableEntity
	}
	if object, ok := parsed.(map[string]any); ok && f.Kind() == reflect.Map {
		f.Set(reflect.ValueOf(object).Convert(f.Type()))
	} else if err := json.Unmarshal(body, f.Addr().Interface()); err != nil {
		return refuse(http.StatusUnprocessableEntity, err)
	}
	return http.StatusUnprocessableEntity
}

func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	media = strings.TrimSpace(media)
	return media == "" || media == "application/json" || strings.HasSuffix(media, "+json")
}

// write sends an output.
func (o *operation) write(w http.ResponseWriter, r *http.Request, out any) {
	if out == nil {
		w.WriteHeader(o.DefaultStatus)
		return
	}
	v := reflect.ValueOf(out).Elem()
	for _, h := range o.headers {
		if text := headerText(v.FieldByIndex(h.index)); text != "" {
			w.Header().Set(h.name, text)
		}
	}
	status := o.DefaultStatus
	if o.status != nil {
		status = int(v.FieldByIndex(o.status).Int())
	}
	if o.content == nil {
		w.WriteHeader(status)
		return
	}
	switch content := v.FieldByIndex(o.content).Interface().(type) {
	case func(http.ResponseWriter, *http.Request):
		content(w, r)
	case []byte:
		w.WriteHeader(status)
		_, _ = w.Write(content) // the client may be gone
	default:
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		if err := encodeJSON(w, content); err != nil && r.Context().Err() == nil {
			o.Log.Error("cannot send a response", "operation", o.OperationID, "err", err)
		}
	}
}

// headerText returns the value of a header; "" if it is not sent.
func headerText(f reflect.Value) string {
	if s, ok := f.Addr().Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprint(f.Interface())
}

func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
