/* param.c: parameters of a call, from the command line and from JSON. */
#include "call.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool known_type(const op_call *call, const char *name, anymax_value_type *type,
                       io_error *error) {
    const anymax_op_param *param = op_param(call->op, name);
    char list[300] = "";
    size_t i, used = 0;
    if (param) {
        *type = param->type;
        return true;
    }
    /* These two belong to the call and not to the operation. */
    if (strcmp(name, "axis") == 0 || strcmp(name, "accumulate") == 0) {
        *type = *name == 'a' && name[1] == 'x' ? ANYMAX_VALUE_INT : ANYMAX_VALUE_BOOL;
        return true;
    }
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && call->op->params[i].name; i++)
        if (used + strlen(call->op->params[i].name) + 4 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     call->op->params[i].name);
    return io_fail(error, "is no parameter of %s%s%s", call->op->name, used ? ", which has " : "",
                   list);
}

/* A place for the parameter; a second value for a name is refused. */
static bool add_value(op_call *call, const char *name, anymax_value value, io_error *error) {
    size_t i, length = strlen(name) + 1, extra = value.s ? strlen(value.s) + 1 : 0;
    char *text;
    for (i = 0; i < call->params; i++)
        if (strcmp(call->param[i].name, name) == 0) return io_fail(error, "is given twice");
    text = call->params < CALL_MAX ? malloc(length + extra) : NULL;
    if (!text) return io_fail(error, "is one parameter too many");
    memcpy(text, name, length);
    if (extra) {
        memcpy(text + length, value.s, extra);
        value.s = text + length;
    }
    call->text[call->params] = text;
    call->list[call->params] = (double *)value.list;
    call->param[call->params].name = text;
    call->param[call->params].value = value;
    call->params++;
    return true;
}

static bool parse_bool(const char *text, bool *value) {
    if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0 || strcmp(text, "yes") == 0)
        *value = true;
    else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0 || strcmp(text, "no") == 0)
        *value = false;
    else
        return false;
    return true;
}

static bool parse_double(const char *text, const char **rest, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (rest) *rest = end;
    return end != text && (rest || !*end);
}

/* "1,2.5,3", with or without brackets. */
static bool parse_list(const char *text, anymax_value *value) {
    size_t room = strlen(text) / 2 + 2;
    double *list = malloc(room * sizeof *list);
    bool bracket = *text == '[', good = list != NULL;
    if (bracket) text++;
    while (good && *text && *text != ']') {
        good = value->count < room && parse_double(text, &text, &list[value->count]);
        value->count += good;
        if (*text == ',') text++;
    }
    if (bracket) good = good && *text++ == ']';
    if (!good || *text) {
        free(list);
        return false;
    }
    value->list = list;
    return true;
}

bool call_set_text(op_call *call, const char *name, const char *text, io_error *error) {
    anymax_value value = {ANYMAX_VALUE_ABSENT, false, 0, 0, NULL, NULL, 0};
    anymax_value_type type;
    long long whole;
    bool good = true;
    if (!known_type(call, name, &type, error)) return false;
    if (strcmp(text, "none") == 0 && type != ANYMAX_VALUE_STRING)
        return add_value(call, name, value, error);
    value.type = type;
    switch (type) {
    case ANYMAX_VALUE_BOOL:
        good = parse_bool(text, &value.b);
        break;
    case ANYMAX_VALUE_INT:
        good = cmd_parse_int(text, INT64_MIN, INT64_MAX, &whole);
        value.i = whole;
        break;
    case ANYMAX_VALUE_FLOAT:
        good = parse_double(text, NULL, &value.f);
        break;
    case ANYMAX_VALUE_STRING:
        value.s = text;
        break;
    case ANYMAX_VALUE_LIST:
        good = parse_list(text, &value);
        break;
    default:
        good = false;
    }
    if (!good)
        return io_fail(error, "takes a value of type %s, not '%s'", op_value_name(type), text);
    if (add_value(call, name, value, error)) return true;
    free((double *)value.list);
    return false;
}

static bool json_list(const cJSON *json, anymax_value *value) {
    size_t room = (size_t)cJSON_GetArraySize(json);
    double *list = malloc((room + 1) * sizeof *list);
    const cJSON *item;
    bool good = list != NULL && cJSON_IsArray(json);
    if (good) {
        cJSON_ArrayForEach(item, json) {
            good = good && cJSON_IsNumber(item);
            list[value->count++] = item->valuedouble;
        }
    }
    if (good)
        value->list = list;
    else
        free(list);
    return good;
}

bool call_set_json(op_call *call, const char *name, const cJSON *json, io_error *error) {
    anymax_value value = {ANYMAX_VALUE_ABSENT, false, 0, 0, NULL, NULL, 0};
    anymax_value_type type;
    double v = cJSON_IsNumber(json) ? json->valuedouble : 0;
    bool good = true;
    if (!known_type(call, name, &type, error)) return false;
    if (cJSON_IsNull(json)) return add_value(call, name, value, error);
    value.type = type;
    switch (type) {
    case ANYMAX_VALUE_BOOL:
        good = cJSON_IsBool(json);
        value.b = cJSON_IsTrue(json);
        break;
    case ANYMAX_VALUE_INT:
        good = cJSON_IsNumber(json) && v == floor(v) && fabs(v) <= 9007199254740992.0;
        value.i = good ? (int64_t)v : 0;
        break;
    case ANYMAX_VALUE_FLOAT:
        good = cJSON_IsNumber(json);
        value.f = v;
        break;
    case ANYMAX_VALUE_STRING:
        good = cJSON_IsString(json);
        value.s = good ? json->valuestring : NULL;
        break;
    case ANYMAX_VALUE_LIST:
        good = json_list(json, &value);
        break;
    default:
        good = false;
    }
    if (!good) return io_fail(error, "does not have a value of type %s", op_value_name(type));
    if (add_value(call, name, value, error)) return true;
    free((double *)value.list);
    return false;
}

double call_param(const op_call *call, const char *name, double otherwise) {
    const anymax_op_param *param = op_param(call->op, name);
    size_t i;
    double v;
    for (i = 0; i < call->params; i++) {
        if (strcmp(call->param[i].name, name) != 0) continue;
        if (call->param[i].value.type == ANYMAX_VALUE_FLOAT) return call->param[i].value.f;
        if (call->param[i].value.type == ANYMAX_VALUE_INT) return (double)call->param[i].value.i;
    }
    if (param && param->standard && parse_double(param->standard, NULL, &v)) return v;
    return otherwise;
}
