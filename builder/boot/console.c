/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a serial console. Anybody in the guest can write to it, and messages of two writers tear
 * each other, so this is for showing progress, for failures that nothing else reports (no boot
 * loader, panic, emergency shell), and for guests that have no better channel. */

#include "boot/console.h"

typedef struct Pattern {
        const char *text;
        bool at_start; /* else anywhere in the line */
        ConsoleEvent event;
        const char *detail;
} Pattern;

/* The first that fits counts. */
static const Pattern patterns[] = {
        { "Kernel panic - not syncing", false, CONSOLE_FAILURE, "kernel panic" },
        { "You are in emergency mode", false, CONSOLE_FAILURE,
                        "emergency mode: systemd could not mount or start something essential" },
        { "Give root password for maintenance", false, CONSOLE_FAILURE,
                        "emergency mode: systemd waits for the root password" },
        { "Press Enter for maintenance", false, CONSOLE_FAILURE, "emergency mode" },
        { "Cannot open access to console, the root account is locked", false, CONSOLE_FAILURE,
                        "emergency mode, and root is locked" },
        { "Entering emergency mode. Exit the shell to continue", false, CONSOLE_FAILURE,
                        "dracut's emergency shell: the root file system was not found" },
        { "does not exist.  Dropping to a shell!", false, CONSOLE_FAILURE,
                        "the initramfs did not find the root file system" },
        { "BdsDxe: No bootable option or device was found", false, CONSOLE_FAILURE,
                        "the firmware found nothing to boot: no UEFI boot loader on the disk" },
        { "UEFI Interactive Shell", false, CONSOLE_FAILURE,
                        "the firmware found nothing to boot: no UEFI boot loader on the disk" },
        { "No bootable device.", false, CONSOLE_FAILURE,
                        "the firmware found nothing to boot: no BIOS boot loader on the disk" },
        { "Boot failed: not a bootable disk", false, CONSOLE_FAILURE,
                        "the firmware found nothing to boot: no BIOS boot loader on the disk" },
        { "Entering rescue mode...", false, CONSOLE_FAILURE, "GRUB did not find its own files" },
        { "Linux version ", false, CONSOLE_KERNEL, NULL },
        { "EFI stub: ", false, CONSOLE_KERNEL, NULL },
        { "GNU GRUB", false, CONSOLE_LOADER, "GRUB" },
        { "Welcome to GRUB!", false, CONSOLE_LOADER, "GRUB" },
        { "GRUB loading", true, CONSOLE_LOADER, "GRUB" },
        { "systemd-boot ", false, CONSOLE_LOADER, "systemd-boot" },
        { "Loading Linux ", true, CONSOLE_LOADER, "GRUB" },
        { "BdsDxe: ", true, CONSOLE_FIRMWARE, "UEFI" },
        { "SeaBIOS (version", true, CONSOLE_FIRMWARE, "BIOS" },
        { "Welcome to ", true, CONSOLE_SYSTEMD, NULL },
};

/* Prompts: the machine waits for an answer that nobody will give. */
static const Pattern prompts[] = {
        { "grub rescue> ", true, CONSOLE_FAILURE,
                        "GRUB's rescue prompt: it did not find its own files" },
        { "grub> ", true, CONSOLE_FAILURE, "GRUB's prompt: it has no configuration" },
        { "(initramfs) ", true, CONSOLE_FAILURE,
                        "the initramfs' shell: the root file system was not found" },
        { "Give root password for maintenance", false, CONSOLE_FAILURE,
                        "emergency mode: systemd waits for the root password" },
        { "Press Enter for maintenance", false, CONSOLE_FAILURE, "emergency mode" },
        { "Shell> ", true, CONSOLE_FAILURE,
                        "the firmware's shell: no UEFI boot loader on the disk" },
};

static ConsoleEvent match(
                const Pattern *table, size_t n, const char *line, const char **ret_detail) {
        for (size_t i = 0; i < n; i++)
                if (table[i].at_start ? startswith(line, table[i].text) != NULL
                                      : strstr(line, table[i].text) != NULL) {
                        *ret_detail = table[i].detail;
                        return table[i].event;
                }
        return CONSOLE_LINE;
}

/* "HOST login: ", as getty writes it. */
static bool is_login(const char *line) {
        const char *word = strchr(line, ' ');

        return word && word != line && startswith(word, " login: ") && !startswith(line, "Last ");
}

/* What follows `verb` in a status line of systemd's, on the console or in the kernel's log. */
static const char *systemd_status(const char *line, const char *verb) {
        static const char *const prefixes[] = { "[  OK  ] ", "[FAILED] ", "systemd[1]: " };

        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++) {
                const char *p = strstr(line, prefixes[i]);
                if (p && (p = startswith(p + strlen(prefixes[i]), verb)))
                        return p;
        }
        return NULL;
}

ConsoleEvent console_classify(const char *line, const char **ret_detail) {
        const char *detail = NULL;
        ConsoleEvent event;

        if ((detail = systemd_status(line, "Reached target ")))
                event = CONSOLE_TARGET;
        else if ((detail = systemd_status(line, "Failed to start ")) ||
                        (detail = systemd_status(line, "Failed to mount ")))
                event = CONSOLE_UNIT_FAILED;
        else {
                event = match(patterns, ELEMENTSOF(patterns), line, &detail);
                if (event == CONSOLE_LINE && is_login(line))
                        event = CONSOLE_LOGIN;
                if (event == CONSOLE_LINE)
                        event = match(prompts, ELEMENTSOF(prompts), line, &detail);
        }
        *ret_detail = detail;
        return event;
}

static void keep(Console *c, const char *line) {
        char **place = c->kept + c->n_kept++ % CONSOLE_KEPT_LINES;

        free(*place);
        *place = strdup(line);
}

size_t console_kept(const Console *c) {
        return MIN(c->n_kept, (size_t) CONSOLE_KEPT_LINES);
}

const char *console_kept_line(const Console *c, size_t i) {
        size_t first = c->n_kept > CONSOLE_KEPT_LINES ? c->n_kept - CONSOLE_KEPT_LINES : 0;

        return strempty(c->kept[(first + i) % CONSOLE_KEPT_LINES]);
}

void console_done(Console *c) {
        for (size_t i = 0; i < CONSOLE_KEPT_LINES; i++)
                free(c->kept[i]);
        *c = (Console) {};
}

/* Takes one byte of the stream through the terminal's escape sequences: the byte that is text,
 * '\n' where a line ends, 0 for nothing. */
static char filter(Console *c, char byte) {
        unsigned char b = (unsigned char) byte;

        switch (c->state) {
        case ESCAPE:
                c->state = byte == '['                  ? CSI
                           : byte == ']'                ? OSC
                           : byte == '(' || byte == ')' ? CHARSET
                                                        : TEXT;
                return 0;
        case CSI:
                if (b < 0x40 || b > 0x7e)
                        return 0;
                c->state = TEXT;
                return byte == 'H' || byte == 'J' || byte == 'f' ? '\n' : 0;
        case OSC:
                if (byte == '\a')
                        c->state = TEXT;
                else if (byte == '\033')
                        c->state = CHARSET; /* the string's end is ESC and one byte more */
                return 0;
        case CHARSET:
                c->state = TEXT;
                return 0;
        case TEXT:
        default:
                if (byte == '\033') {
                        c->state = ESCAPE;
                        return 0;
                }
                if (byte == '\r' || byte == '\n')
                        return '\n';
                return b < ' ' && byte != '\t' ? 0 : byte == 0x7f ? 0 : byte;
        }
}

typedef void (*ConsoleCallback)(
                ConsoleEvent event, const char *line, const char *detail, void *userdata);

static void end_line(Console *c, ConsoleCallback callback, void *userdata) {
        ConsoleEvent event;
        const char *detail;

        if (c->used == 0)
                return;

        c->line[c->used] = '\0';
        c->used = 0;
        keep(c, c->line);

        /* A prompt was reported already, but a panic may have been written behind it. */
        event = console_classify(c->line, &detail);
        if (!c->prompt_seen || event != CONSOLE_LOGIN)
                callback(event, c->line, detail, userdata);
        c->prompt_seen = false;
}

/* The unfinished line may be a prompt: no end of it will come. */
static void look_for_prompt(Console *c, ConsoleCallback callback, void *userdata) {
        const char *detail = NULL;
        ConsoleEvent event;

        if (c->used == 0 || c->prompt_seen)
                return;

        c->line[c->used] = '\0';
        event = is_login(c->line) ? CONSOLE_LOGIN
                                  : match(prompts, ELEMENTSOF(prompts), c->line, &detail);
        if (event == CONSOLE_LINE)
                return;

        c->prompt_seen = true;
        callback(event, c->line, detail, userdata);
}

void console_feed(Console *c, const char *data, size_t size,
                void (*callback)(ConsoleEvent event, const char *line, const char *detail,
                                void *userdata),
                void *userdata) {
        for (size_t i = 0; i < size; i++) {
                char b = filter(c, data[i]);

                if (b == 0)
                        continue;
                if (b != '\n')
                        c->line[c->used++] = b;
                if (b == '\n' || c->used == sizeof(c->line) - 1)
                        end_line(c, callback, userdata);
        }

        look_for_prompt(c, callback, userdata);
}
