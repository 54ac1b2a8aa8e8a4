/* table.c: tables for people. */
#include "command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cmd_table_start(cmd_table *table, const char *format) {
    memset(table, 0, sizeof *table);
    table->columns = strlen(format);
    table->format = format;
}

/* Text that cannot be kept for want of memory is shown as an empty cell. */
static void add_cell(cmd_table *table, const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (table->cells == table->room) {
        size_t room = table->room ? 2 * table->room : 64;
        char **cell = realloc(table->cell, room * sizeof *cell);
        if (!cell) {
            free(copy);
            return;
        }
        table->cell = cell;
        table->room = room;
    }
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    table->cell[table->cells++] = copy;
}

/* One row; the formatted text holds its cells, divided by tabs. */
void cmd_table_add(cmd_table *table, const char *format, ...) {
    char row[1024], *at = row;
    size_t i;
    va_list args;
    va_start(args, format);
    vsnprintf(row, sizeof row, format, args);
    va_end(args);
    for (i = 0; i < table->columns; i++) {
        size_t length = strcspn(at, "\t");
        add_cell(table, at, length);
        at += length + (at[length] == '\t');
    }
}

/* Columns on a terminal: bytes that start a character of UTF-8. */
static size_t text_width(const char *text) {
    size_t n = 0;
    for (; text && *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void print_cell(const cmd_table *table, size_t index, size_t width) {
    const char *text = table->cell[index] ? table->cell[index] : "";
    size_t column = index % table->columns, gap = width - text_width(text);
    bool last = column + 1 == table->columns;
    if (table->format[column] == 'r')
        printf("%*s%s", (int)gap, "", text);
    else
        printf("%s%*s", text, last ? 0 : (int)gap, "");
    printf(last ? "\n" : "  ");
}

void cmd_table_print(cmd_table *table) {
    size_t width[CMD_MAX_COLUMNS] = {0}, i;
    for (i = 0; i < table->cells; i++) {
        size_t w = text_width(table->cell[i]);
        if (w > width[i % table->columns]) width[i % table->columns] = w;
    }
    for (i = 0; i < table->cells; i++) print_cell(table, i, width[i % table->columns]);
    for (i = 0; i < table->cells; i++) free(table->cell[i]);
    free(table->cell);
    memset(table, 0, sizeof *table);
}
