//! A page in a window of its own: the actions of a reader, and the reactions of the page.

use std::cell::RefCell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use larder_report::{Format, Run, Style, render};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::chromium;
use crate::webdriver::Session;

/// A page; its window closes when this is dropped. Only one page is open at a time, so other trials wait.
pub(crate) struct Page {
    session: RefCell<MutexGuard<'static, Session>>,
    address: String,
}

/// The window of a page and the settings of its browser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
    pub(crate) scripts: bool,
}

impl View {
    /// A window on a desk, in light mode.
    pub(crate) const DESK: Self = Self { width: 1280, height: 900, dark: false, scripts: true };
    /// A telephone.
    pub(crate) const PHONE: Self = Self { width: 390, height: 844, ..Self::DESK };
}

impl Page {
    /// The report of a run.
    pub(crate) fn of(run: &Run, view: View) -> Self {
        Self::open(&report(run), view)
    }

    /// The report of a run, after all charts are drawn.
    pub(crate) fn drawn(run: &Run, view: View) -> Self {
        let page = Self::of(run, view);
        page.until_drawn();
        page
    }

    /// A page with this text.
    pub(crate) fn open(html: &str, view: View) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}.html", COUNT.fetch_add(1, Ordering::Relaxed));
        let file = chromium::pages().join(name);
        std::fs::write(&file, html).expect("the page can be written");
        let mut session = chromium::session();
        session.open_window();
        // Drops the log lines of earlier trials.
        session.log("browser");
        session.log("performance");
        let address = format!("file://{}", file.display());
        let page = Self { session: RefCell::new(session), address };
        page.tools("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        page.tools("Emulation.setScriptExecutionDisabled", &json!({ "value": !view.scripts }));
        page.resize(view.width, view.height);
        page.prefer(view.dark);
        page.load();
        page
    }

    /// Loads the page, or loads it again, and waits for it.
    pub(crate) fn load(&self) {
        self.post("url", &json!({ "url": self.address }));
    }

    /// Waits until the charts are drawn, if there are any.
    pub(crate) fn until_drawn(&self) {
        self.until(
            "[...document.querySelectorAll('.panel')]\
             .every((panel) => panel.querySelector('.plot').tabIndex === 0)",
        );
        self.settle();
    }

    /// Waits until the latest change is painted.
    pub(crate) fn settle(&self) {
        let painted = "new Promise((resolve) => requestAnimationFrame(() => \
                       requestAnimationFrame(() => resolve(true))))";
        assert!(self.value::<bool>(painted));
    }

    /// Has [`Self::work`] count the time that the page's thread runs, and not the time in which it waits for a processor.
    pub(crate) fn measure_work(&self) {
        self.tools("Performance.enable", &json!({ "timeDomain": "threadTicks" }));
    }

    /// The time for which the page's thread has run since the page began to load.
    pub(crate) fn work(&self) -> Duration {
        let found = self.tools("Performance.getMetrics", &json!({}));
        let metrics = found["metrics"].as_array().expect("a list of metrics");
        let metric = metrics.iter().find(|metric| metric["name"] == "TaskDuration");
        let seconds = metric.and_then(|metric| metric["value"].as_f64());
        Duration::from_secs_f64(seconds.expect("the time of tasks"))
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Every address that the page has requested since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let lines = self.session.borrow_mut().log("performance");
        let events =
            lines.iter().map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
        let events = events.map(|mut event| event["message"].take());
        let requests = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        requests
            .map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Every complaint of the browser, and of the page in its console, since the last call.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.session.borrow_mut().log("browser")
    }

    /// The value of an expression, or of its promise.
    pub(crate) fn value<T: DeserializeOwned>(&self, expression: &str) -> T {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.tools("Runtime.evaluate", &parameters);
        let exception = &answer["exceptionDetails"];
        assert!(exception.is_null(), "{expression}: {exception}");
        let value = answer["result"]["value"].take();
        serde_json::from_value(value.clone())
            .unwrap_or_else(|error| panic!("{expression} is {value}: {error}"))
    }

    /// Evaluates an expression for its effect.
    pub(crate) fn run(&self, expression: &str) {
        self.value::<()>(&format!("void ({expression})"));
    }

    /// Waits until an expression holds.
    pub(crate) fn until(&self, expression: &str) {
        let asked = format!(
            "new Promise((resolve) => {{ let frames = 600; const ask = () => {{ \
               if ({expression}) resolve(true); else if (frames-- === 0) resolve(false); \
               else requestAnimationFrame(ask); }}; ask(); }})"
        );
        assert!(self.value::<bool>(&asked), "it never came to this: {expression}");
    }

    /// Presses a key and releases it.
    pub(crate) fn press(&self, key: Key) {
        let press = |what: &str| json!({ "type": what, "value": key.0 });
        let actions =
            json!({ "type": "key", "id": "keys", "actions": [press("keyDown"), press("keyUp")] });
        self.post("actions", &json!({ "actions": [actions] }));
    }

    /// Moves the mouse to this place in the window.
    pub(crate) fn point_at(&self, x: f64, y: f64) {
        let go = json!({ "type": "pointerMove", "x": x.round(), "y": y.round(), "duration": 0 });
        let actions = json!({ "type": "pointer", "id": "mouse", "actions": [go] });
        self.post("actions", &json!({ "actions": [actions] }));
    }

    /// Changes the size of the window.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// The colours that the reader's system prefers.
    pub(crate) fn prefer(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.tools("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Shows the page as it looks on paper.
    pub(crate) fn show_as_printed(&self) {
        self.tools("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
        self.run("dispatchEvent(new Event('beforeprint'))");
        self.settle();
    }

    /// The whole page as a picture.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let [width, height]: [f64; 2] =
            self.value("[innerWidth, document.documentElement.scrollHeight]");
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let parameters = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let picture = self.tools("Page.captureScreenshot", &parameters);
        STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base64")
    }

    /// The printed page, as a PDF.
    pub(crate) fn print(&self) -> Vec<u8> {
        let printed = self.post("print", &json!({}));
        STANDARD.decode(printed.as_str().expect("a document")).expect("base64")
    }

    fn post(&self, command: &str, parameters: &Value) -> Value {
        self.session.borrow_mut().post(command, parameters)
    }

    fn tools(&self, method: &str, parameters: &Value) -> Value {
        self.session.borrow_mut().developer_tools(method, parameters)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.session.get_mut().close_window();
    }
}

/// A key, as `WebDriver` writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(char);

impl Key {
    pub(crate) const TAB: Self = Self('\u{e004}');
    pub(crate) const ENTER: Self = Self('\u{e007}');
    pub(crate) const SPACE: Self = Self(' ');
    pub(crate) const END: Self = Self('\u{e010}');
    pub(crate) const HOME: Self = Self('\u{e011}');
    pub(crate) const RIGHT: Self = Self('\u{e014}');
    pub(crate) const DOWN: Self = Self('\u{e015}');
}

/// The HTML report of a run.
pub(crate) fn report(run: &Run) -> String {
    render(run, Format::HTML, Style { colour: false, width: 100 })
}
