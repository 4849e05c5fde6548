"""Chromium of the distribution, headless, without a network, as tests of pages see it."""

import json
import time
from pathlib import Path

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>")
WITHOUT_SCRIPTS = {"profile.managed_default_content_settings.javascript": 2}


class Browser:
    def __init__(self, scripts=True, dark=False, size=(1280, 900)):
        for path in (CHROMIUM, DRIVER):
            if not path.exists():
                raise AssertionError(f"{path} does not exist; run ./setup.sh test")
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--window-size={size[0]},{size[1]}", *(["--blink-settings=preferredColorScheme=0"] if dark else [])):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if not scripts:
            options.add_experimental_option("prefs", WITHOUT_SCRIPTS)
        self.driver = webdriver.Chrome(service=Service(str(DRIVER)), options=options)
        self.driver.set_page_load_timeout(120)
        self.driver.set_script_timeout(120)
        if dark:
            self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def close(self):
        self.driver.quit()

    def command(self, name, **words):
        return self.driver.execute_cdp_cmd(name, words)

    def open(self, path):
        self.command("Network.enable")
        self.command("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.driver.get(Path(path).resolve().as_uri())

    def value(self, expression):
        """Of the page, by the debugger, which works where scripts are off."""
        said = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise AssertionError(f"{expression}: {said['exceptionDetails']}")
        return said["result"].get("value")

    def until(self, expression, seconds=10):
        """True once it holds; what a page does when it has time is waited for."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.value(expression):
                return True
            time.sleep(0.05)
        return False

    def complaints(self):
        """Whatever the console holds, of any level."""
        return [line["message"] for line in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that the page asked for."""
        messages = [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
        return [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]

    def picture(self, path):
        self.driver.save_screenshot(str(path))
