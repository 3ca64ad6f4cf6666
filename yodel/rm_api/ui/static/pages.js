"use strict";
// Times in the reader's zone, and tables that refresh themselves.  Without this script the pages show UTC and stand still.
(() => {
  const REFRESH_MS = 5000;
  const REFRESH_MAX_MS = 60000;
  const SHARE = 50; // a page that takes long to make is asked for less often: at most this part of the time
  const PAUSED = "yodel-paused";

  const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const local = new Intl.DateTimeFormat("sv-SE", { ...parts, timeZoneName: "short" }); // 2026-11-27 16:20:42 CET

  function showTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (time.childElementCount > 0 || Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
      const utc = document.createElement("small");
      utc.className = "quiet";
      utc.textContent = time.textContent;
      time.replaceChildren(`${local.format(at)} `, utc);
    }
  }

  function follow() {
    if (document.querySelector("pre[data-follow]")) scrollTo(0, document.body.scrollHeight);
  }

  const live = () => document.getElementById("live");
  const shown = document.getElementById("refreshed");
  const pause = document.getElementById("pause");
  let wait = REFRESH_MS, timer = 0, startedAt = 0, last = "", focused = null;

  const isPaused = () => sessionStorage.getItem(PAUSED) !== null;

  function isInUse() {
    const selection = getSelection();
    const isSelected = !selection.isCollapsed && live().contains(selection.anchorNode);
    return isSelected || (live().contains(document.activeElement) && document.activeElement.matches("input, select, textarea"));
  }

  function later(inMs) {
    clearTimeout(timer);
    timer = setTimeout(refresh, inMs);
  }

  function refresh() {
    if (document.hidden || isPaused()) return;
    if (isInUse()) {
      later(REFRESH_MS);
      return;
    }
    later(REFRESH_MAX_MS); // whatever becomes of this request
    startedAt = performance.now();
    htmx.trigger(live(), "refresh");
  }

  function say(words) {
    shown.textContent = words;
  }

  function sayPaused() {
    pause.textContent = isPaused() ? "Resume" : "Pause";
    if (isPaused()) say("Paused");
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    const text = event.detail.xhr.responseText;
    if (text === last || !text.includes('id="live"')) event.detail.shouldSwap = false;
    last = text;
    const active = document.activeElement;
    focused = active && active.closest("#live") && active.getAttribute("href");
  });
  document.addEventListener("htmx:afterSettle", () => {
    showTimes(document);
    follow();
    if (focused !== null && document.activeElement === document.body) {
      const again = document.querySelector(`#live a[href="${CSS.escape(focused)}"]`);
      if (again) again.focus({ preventScroll: true });
    }
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const took = performance.now() - startedAt;
    const isGood = event.detail.successful;
    wait = isGood ? Math.max(REFRESH_MS, took * SHARE) : Math.min(2 * wait, REFRESH_MAX_MS);
    if (isPaused()) sayPaused();
    else if (isGood) say(`Refreshed ${new Date().toLocaleTimeString("sv-SE")}`);
    else say(`Not refreshed: ${event.detail.xhr.status ? `the server answered ${event.detail.xhr.status}` : "no answer"}`);
    later(wait);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) later(0);
  });

  showTimes(document);
  follow();
  if (live() && live().hasAttribute("hx-get")) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      if (isPaused()) sessionStorage.removeItem(PAUSED);
      else sessionStorage.setItem(PAUSED, "");
      sayPaused();
      if (!isPaused()) later(0);
    });
    sayPaused();
    later(REFRESH_MS);
  }
})();
